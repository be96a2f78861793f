package claude

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestViolationsSayWhereAndWhatInTheWordsOfFailures(t *testing.T) {
	t.Parallel()
	s, err := CompileSchema([]byte(`{"type":"object","required":["id","title"],"additionalProperties":false,
		"properties":{"id":{"type":"string"},"title":{"type":["string","null"]},"mood":{"enum":["calm"]},"n":{"type":"array","items":{"type":"integer"}}}}`))
	require.NoError(t, err)
	list, n, err := s.Violations([]byte(`{"id":5,"x/y":1,"n":[1,"a",2.5],"mood":"Calm"}`), 10)
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.Len(t, list, 6)
	require.Equal(t, []string{"", "", "/id", "/mood", "/n/1", "/n/2"}, []string{
		list[0].Pointer, list[1].Pointer, list[2].Pointer, list[3].Pointer, list[4].Pointer, list[5].Pointer,
	})
	require.Equal(t, []string{"x/y"}, list[0].Extra)
	require.Equal(t, []string{"title"}, list[1].Missing)
	require.Equal(t, Violation{Pointer: "/id", Text: list[2].Text, Got: "5", Types: []string{"string"}}, list[2])
	require.ErrorContains(t, s.check(decode([]byte(`{"id":5,"title":""}`))), list[2].Text)

	few, n, err := s.Violations([]byte(`{"id":5,"x/y":1,"n":[1,"a",2.5],"mood":"Calm"}`), 1)
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.Equal(t, list[:1], few)

	list, n, err = s.AnswerViolations([]byte(`{"id":"a","title":"","mood":"Calm"}`), 10)
	require.NoError(t, err)
	require.Empty(t, list)
	require.Zero(t, n)
	_, _, err = s.AnswerViolations([]byte(`Sure! {"id":1}`), 10)
	require.Error(t, err)
	_, _, err = s.Violations([]byte(`{"id":1e99999999}`), 10)
	require.ErrorContains(t, err, "too large to be checked")
}

func TestAReplySaysWhatTheModelWrote(t *testing.T) {
	t.Parallel()
	r, ok := ReadReply([]byte(`{"type":"message","id":"m","stop_reason":"refusal","stop_details":{"category":"bio"},"usage":{"output_tokens":7},
		"content":[{"type":"text","text":"a"},{"type":"tool_use","name":"answer","input":{"x":1}},{"type":"text","text":"b"}]}`))
	require.True(t, ok)
	require.Equal(t, "refusal", r.StopReason)
	require.Equal(t, "bio", r.Category)
	require.Equal(t, "ab", r.Text)
	require.JSONEq(t, `{"x":1}`, string(r.Tool))
	require.EqualValues(t, 7, r.Usage.Output)
	_, ok = ReadReply([]byte(`{"type":"error"}`))
	require.False(t, ok)
}
