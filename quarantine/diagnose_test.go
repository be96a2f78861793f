package quarantine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
	"github.com/siding-dev/siding/recipe"
)

// facts gives what a recipe of the examples knows.
func facts(t *testing.T, file string) quarantine.Facts {
	t.Helper()
	r, err := recipe.Load(file)
	require.NoError(t, err)
	f, err := r.FactsAlone()
	require.NoError(t, err)
	return f
}

func lines(t *testing.T, file string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// pointed shows a finding in a line.
func pointed(f quarantine.Finding) string {
	text := f.Check + "/" + f.Code
	if f.Pointer != nil {
		text += " " + *f.Pointer
	}
	if f.Offset != nil {
		text += fmt.Sprintf(" @%d", *f.Offset)
	}
	return text
}

// mends gives what the repairs that a diagnosis suggests come to.
func mends(t *testing.T, m siding.Message, f quarantine.Facts, list []quarantine.Finding) ([]string, quarantine.Preview) {
	t.Helper()
	texts := quarantine.Suggest(list)
	r, err := quarantine.ParseRepairs(texts)
	require.NoError(t, err)
	if len(r) == 0 {
		return nil, quarantine.Preview{}
	}
	require.Equal(t, texts, r.Texts(), "each is written in its one spelling")
	return texts, r.Preview(t.Context(), m, f)
}

func TestTheBrokenWallpapersAreDiagnosed(t *testing.T) {
	t.Parallel()
	f := facts(t, "../examples/wallpapers/recipe.yaml")
	records := lines(t, "../examples/wallpapers/metadata.jsonl")
	require.Len(t, records, 800)
	answer := func(stop, text, more string) []byte {
		return []byte(`{"type":"message","id":"msg_1","stop_reason":"` + stop + `","content":[{"type":"text","text":"` + text + `"}],"usage":{"output_tokens":1024}` + more + `}`)
	}
	broken := map[int]struct {
		subject quarantine.Subject
		faults  []string // with the words that say it
		repairs []string
	}{
		61: {
			faults: []string{
				"utf8/invalid-utf8 /description @79: 4 bytes are not UTF-8: ff d8 ff e0",
				"utf8/invalid-utf8 /description @90: the byte 0xc3 is not UTF-8",
				"utf8/invalid-utf8 /description @92: 3 bytes are not UTF-8: fe ed fa",
				"json/unescaped-control /description @83: a string has the byte 0x10 in it",
				"control/control /description @83: U+0010", "control/control /description @88: U+0001", "control/control /description @89: U+0001",
			},
			repairs: []string{"strip-invalid-utf8", "strip-control"},
		},
		187: {
			faults:  []string{`surrogate/lone-surrogate /description @121: \ud83c is half of a character`},
			repairs: []string{"fix-surrogates"},
		},
		302: { // what comes after the cut was needed, and nobody can know it
			faults: []string{
				"json/open-string /description @75: the text ends inside a string",
				"schema/missing-field : once the body is mended: it does not fit the input schema: at \"\": missing property 'colors'",
			},
		},
		418: {
			faults:  []string{"tokens/input-too-large /comment: max_input_tokens of the recipe is 8000. /comment has 99 % of its bytes"},
			repairs: []string{"truncate:field=/comment,max=5800,unit=tokens"},
		},
		493: {
			faults: []string{"text/empty-text: /title, /description and /comment; there is nothing to ask about, and nothing to mend"},
		},
		577: {
			subject: quarantine.Subject{
				Message: failed(siding.CauseRefused, "the model refused (category: bio)"),
				Answer:  answer("refusal", "I cannot help with that.", `,"stop_details":{"category":"bio"}`),
			},
			faults: []string{"answer/refused: the model refused, category bio. The same request is refused again"},
		},
		668: {
			subject: quarantine.Subject{
				Message: failed(siding.CauseSchemaMismatch, "the answer does not fit the schema: it is not JSON"),
				Answer:  answer("end_turn", `Fog on the rails,\na lamp`, ""),
			},
			faults:  []string{`answer/prose: the answer is no JSON`},
			repairs: []string{`request:instruction="Answer with the JSON that was asked for, and with nothing else: no introduction, no explanation, no code fence."`},
		},
		741: {
			subject: quarantine.Subject{
				Message: failed(siding.CauseTruncated, "the answer was cut at max_tokens"),
				Calls:   []siding.Call{{OutputLimit: 512}, {OutputLimit: 1024}},
				Answer:  answer("max_tokens", "{", ""),
			},
			faults:  []string{"answer/truncated: cut at its limit of 1024 tokens, after 1024; claude-haiku-4-5 gives up to 64000"},
			repairs: []string{"request:max_tokens=64000"},
		},
	}
	for at, want := range broken {
		s := want.subject
		s.Message.Body = records[at]
		if s.Message.LastError == nil {
			failure := f.Check(s.Message)
			require.NotNil(t, failure, at)
			s.Message.LastError = failure.Stored()
		}
		list := quarantine.Diagnose(t.Context(), s, f)
		require.Equal(t, "failure", list[0].Check)
		require.Contains(t, list[0].Text, s.Message.LastError.Text)
		var faults []quarantine.Finding
		for _, each := range list {
			if each.Fault {
				faults = append(faults, each)
			}
		}
		require.Len(t, faults, len(want.faults), "%d: %+v", at, faults)
		for i, each := range faults {
			where, words, _ := strings.Cut(want.faults[i], ": ")
			require.Equal(t, where, pointed(each), at)
			require.Contains(t, each.Text, words, at)
		}
		texts, p := mends(t, s.Message, f, list)
		require.Equal(t, want.repairs, texts, at)
		if len(texts) > 0 {
			require.Equal(t, quarantine.Changed, p.Verdict, "%d: %s", at, p.Problem)
			require.Nil(t, f.Check(siding.Message{Body: p.After.Body}))
		}
	}
	for at, body := range records {
		if _, is := broken[at]; !is {
			require.Nil(t, f.Check(siding.Message{Body: body}), at)
			for _, each := range quarantine.Diagnose(t.Context(), quarantine.Subject{Message: siding.Message{Body: body}}, f) {
				require.False(t, each.Fault, "%d: %+v", at, each)
			}
		}
	}
}

func failed(cause siding.Cause, text string) siding.Message {
	return siding.Message{LastError: &siding.LastError{Cause: cause, Text: text}}
}

func TestTheBrokenReadingsAreDiagnosed(t *testing.T) {
	t.Parallel()
	f := facts(t, "../examples/readings/recipe.yaml")
	byProgram := failed(siding.CauseHandlerError, "exit status 65 (EX_DATAERR): ValueError('no temperature')")
	broken := map[string]struct {
		m       siding.Message
		fault   string
		repairs []string
	}{
		"r-102": {fault: `json/truncated-end  @84`, repairs: []string{"fix-json"}},
		"r-103": {fault: "schema/missing-field  @0"},
		"r-105": {fault: "utf8/invalid-utf8 /temperature @83", repairs: []string{"strip-invalid-utf8"}},
		"r-107": {m: failed(siding.CauseSchemaMismatch, `at "/station": it does not match pattern`), fault: "failure/schema-mismatch"},
		"r-101": {m: byProgram, fault: "failure/handler-error"},
		"r-104": {m: byProgram, fault: "failure/handler-error"},
		"r-106": {m: byProgram, fault: "failure/handler-error"},
		"r-108": {m: byProgram, fault: "failure/handler-error"},
	}
	for _, body := range lines(t, "../examples/readings/readings.jsonl") {
		id := string(body[8:13])
		want, is := broken[id]
		m := want.m
		m.Body = body
		if failure := f.Check(m); failure != nil {
			m.LastError = failure.Stored()
		}
		list := quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, f)
		texts, p := mends(t, m, f, list)
		require.Equal(t, want.repairs, texts, id)
		if !is {
			require.Nil(t, m.LastError, id)
			require.Empty(t, list, id)
			continue
		}
		at := slices.IndexFunc(list, func(f quarantine.Finding) bool { return f.Fault })
		require.GreaterOrEqual(t, at, 0, id)
		require.Equal(t, want.fault, pointed(list[at]), id)
		require.Len(t, slices.DeleteFunc(list, func(f quarantine.Finding) bool { return !f.Fault }), 1, id)
		if len(texts) > 0 {
			require.Equal(t, quarantine.Changed, p.Verdict, p.Problem)
			require.True(t, json.Valid(p.After.Body))
		}
	}
}

func TestTheBrokenReminderIsLeftWithAClearWord(t *testing.T) {
	t.Parallel()
	m := failed(siding.CauseHandlerError, `"carol" is no address`)
	m.Body = []byte("carol: put the bins out tonight")
	list := quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, quarantine.Facts{})
	require.Equal(t, []quarantine.Finding{{
		Check: "failure", Code: "handler-error", Text: `"carol" is no address`, Fault: true, Repairs: []string{},
	}}, list)
	require.Empty(t, quarantine.Suggest(list))
}
