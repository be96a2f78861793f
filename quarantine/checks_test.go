package quarantine_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

func diagnosed(t *testing.T, body string, cause siding.Cause, f quarantine.Facts) []quarantine.Finding {
	t.Helper()
	m := siding.Message{Body: []byte(body)}
	if cause != "" {
		m.LastError = &siding.LastError{Cause: cause, Text: "it failed"}
	}
	return quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, f)
}

// found gives the findings of one check.
func found(list []quarantine.Finding, check string) []quarantine.Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f quarantine.Finding) bool { return f.Check != check })
}

func TestAPlaceIsGivenByLineAndColumn(t *testing.T) {
	t.Parallel()
	list := diagnosed(t, "{\n \"a\": [1,\n  {\"b\": \"x\xffy\"}]}", "", quarantine.Facts{})
	require.Len(t, list, 1)
	require.Equal(t, "utf8/invalid-utf8 /a/1/b @22", pointed(list[0]))
	require.EqualValues(t, 3, list[0].Line)
	require.EqualValues(t, 11, list[0].Column)
}

func TestFieldsAreComparedWithTheInputSchema(t *testing.T) {
	t.Parallel()
	f := quarantine.Facts{InputSchema: []byte(`{"type":"object","required":["id","user_name"],"additionalProperties":false,"properties":{
		"id":{"type":"string"},"user_name":{"type":"string"},"age":{"type":"integer"},"note":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}}}`)}
	for body, want := range map[string][]string{
		`{"id":"a","user_name":"b"}`:                           nil,
		`{"id":7,"user_name":"b"}`:                             {`schema/schema-violation /id @6`, `set:field=/id,value="\"7\""`},
		`{"id":"a","user_name":"b","age":"41"}`:                {`schema/schema-violation /age @32`, `set:field=/age,value=41`},
		`{"id":"a","user_name":"b","age":"old"}`:               {`schema/schema-violation /age @32`},
		`{"id":"a","user_name":"b","note":null}`:               {`schema/schema-violation /note @33`, `drop:field=/note`},
		`{"id":"a","user_name":"b","extra":1}`:                 {`schema/schema-violation  @0`, `drop:field=/extra`},
		`{"id":"a"}`:                                           {`schema/missing-field  @0`},
		`{"id":null,"user_name":"b"}`:                          {`schema/schema-violation /id @6`},
		`{"id":"a","user_name":"b","tags":["x",null]}`:         {`schema/schema-violation /tags/1 @38`},
		`{"id":"a","user_name":"b","tags":[5]}`:                {`schema/schema-violation /tags/0 @34`, `set:field=/tags/0,value="\"5\""`},
		`{"id":"a","userName":"b"}`:                            {`schema/schema-violation  @0`, `drop:field=/userName`, `schema/missing-field  @0`, `rename:field=/userName,to=user_name`},
		"{\"id\":\"a\xff\",\"user_name\":\"b\",\"age\":\"1\"}": {`schema/schema-violation /age`, `set:field=/age,value=1`},
	} {
		var got []string
		list := diagnosed(t, body, siding.CauseSchemaViolation, f)
		for _, each := range found(list, "schema") {
			got = append(append(got, pointed(each)), each.Repairs...)
		}
		require.Equal(t, want, got, body)
		if texts, p := mends(t, siding.Message{Body: []byte(body)}, f, list); texts != nil {
			require.Equal(t, quarantine.Changed, p.Verdict, "%s %s: %s", body, texts, p.Problem)
		}
	}
}

func TestAnAnswerIsComparedWithTheOutputSchema(t *testing.T) {
	t.Parallel()
	f := quarantine.Facts{OutputSchema: []byte(`{"type":"object","required":["mood"],"properties":{"mood":{"enum":["calm","wild"]},"n":{"type":"integer"}}}`), Settings: true}
	s := quarantine.Subject{Message: failed(siding.CauseSchemaMismatch, "the answer does not fit")}
	s.Message.Body = []byte(`{}`)
	for answer, want := range map[string]string{
		`{"mood":"sad","n":1.5}`:            `output-schema: the answer does not fit the output schema: at "/mood"`,
		`{"mood":"Calm"}`:                   `accepted-now: a redrive takes it from the journal`,
		`Here it is: {"mood":"calm"}`:       `prose: the answer is no JSON`,
		"```json\n{\"mood\":\"calm\"}\n```": `fenced-json: in a code fence`,
		"```json\n{\"mood\":\n```":          `fenced-json: what stands in it is no JSON`,
	} {
		text, _ := json.Marshal(answer)
		for _, raw := range []string{answer, `{"type":"message","id":"m","stop_reason":"end_turn","content":[{"type":"text","text":` + string(text) + `}]}`} {
			s.Answer = []byte(raw)
			list := found(quarantine.Diagnose(t.Context(), s, f), "answer")
			code, words, _ := strings.Cut(want, ": ")
			require.NotEmpty(t, list, raw)
			require.Equal(t, code, list[0].Code, raw)
			require.Contains(t, list[0].Text, words)
		}
	}
	s.Answer = []byte(`{"type":"message","id":"m","stop_reason":"tool_use","content":[{"type":"tool_use","name":"answer","input":{"mood":5}}]}`)
	require.Contains(t, found(quarantine.Diagnose(t.Context(), s, f), "answer")[0].Text, "it is 5")
}

func picture(t *testing.T, side int, jpg bool) []byte {
	t.Helper()
	var b bytes.Buffer
	i := image.NewGray(image.Rect(0, 0, side, 1))
	if jpg {
		require.NoError(t, jpeg.Encode(&b, i, nil))
	} else {
		require.NoError(t, png.Encode(&b, i))
	}
	return b.Bytes()
}

func TestImagesAreLookedInto(t *testing.T) {
	t.Parallel()
	jpg := base64.StdEncoding.EncodeToString(picture(t, 40, true))
	wide := base64.StdEncoding.EncodeToString(picture(t, 9000, false))
	long := base64.StdEncoding.EncodeToString(append(picture(t, 9000, false), make([]byte, 600)...))
	webp := base64.StdEncoding.EncodeToString([]byte("RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x3f\x1f\x00\x00\x00\x00" + strings.Repeat("\x00", 600)))
	cut := base64.StdEncoding.EncodeToString(picture(t, 40, true)[:150])
	for body, want := range map[string]string{
		`{"i":"data:image/jpeg;base64,` + jpg + `"}`:                              "",
		`{"i":"data:image/png;base64,` + jpg + `"}`:                               "media/type-mismatch /i @5: said to be image/png, and is image/jpeg by its content",
		`{"a":[{"media_type":"image/png","data":"` + jpg + `"}]}`:                 "media/type-mismatch /a/0/data @39: 40 × 1",
		`{"i":"data:image/png;base64,` + wide + `"}`:                              "media/sides-too-long /i @5: 9000 × 1; the service takes 8000",
		`{"i":"data:image/jpeg;base64,` + jpg[:20] + `!` + jpg[20:] + `"}`:        "media/damaged-base64 /i @5: damaged at character 20",
		`{"i":"data:image/jpeg;base64,` + jpg[:20] + `\n` + jpg[20:] + `"}`:       "media/spaced-base64 /i @5: white space",
		`{"i":"data:image/jpeg;base64,` + strings.TrimRight(jpg, "=")[:90] + `"}`: "media/damaged-base64 /i @5: lacks its padding",
		`{"i":"data:image/jpeg;base64,` + cut + `"}`:                              "media/media-cut /i @5: its end is missing",
		`{"i":"data:image/jpeg;base64,aGVsbG8="}`:                                 "media/unknown-type /i @5: text/plain",
		`{"i":"data:image/jpeg;base64,"}`:                                         "media/empty-media /i @5: it is empty",
		`{"i":"data:image/webp;base64,` + webp + `"}`:                             "",
		`{"i":"` + jpg + strings.Repeat("A", 4) + `"}`:                            "media/damaged-base64 /i @5: ",
		`{"i":"` + long + `"}`:                                                    "media/sides-too-long /i @5: 9000 × 1",
		`{"data":"hello there","type":"text"}`:                                    "",
		`{"i":"data:text/plain;base64,aGVsbG8="}`:                                 "",
		`{"5":[{"media_type":"image/png","data":"` + jpg + `"}]}`:                 "media/type-mismatch /5/0/data @39: 40 × 1",
		`{"5":["data:image/png;base64,` + jpg + `"]}`:                             "media/type-mismatch /5/0 @6: 40 × 1",
	} {
		list := diagnosed(t, body, siding.CauseInvalidMedia, quarantine.Facts{})
		media := found(list, "media")
		if want == "" {
			require.Empty(t, media, body)
			continue
		}
		require.Len(t, media, 1, body)
		where, words, _ := strings.Cut(want, ": ")
		require.Equal(t, where, pointed(media[0]), body)
		require.Contains(t, media[0].Text, words)
		if texts, p := mends(t, siding.Message{Body: []byte(body)}, quarantine.Facts{}, list); texts != nil {
			require.Equal(t, quarantine.Changed, p.Verdict, "%s: %s", texts, p.Problem)
			require.Empty(t, found(diagnosed(t, string(p.After.Body), siding.CauseInvalidMedia, quarantine.Facts{}), "media"), "%s", texts)
		}
	}
}

func TestImageFilesAreOpenedUnderTheirRootOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	require.NoError(t, os.Mkdir(root, 0o700))
	write := func(name string, data []byte) { require.NoError(t, os.WriteFile(name, data, 0o600)) }
	write(filepath.Join(root, "good.png"), picture(t, 3, false))
	write(filepath.Join(root, "wide.png"), picture(t, 9000, true))
	write(filepath.Join(root, "text.png"), []byte("no image"))
	write(filepath.Join(dir, "secret.png"), picture(t, 3, false))
	require.NoError(t, os.Symlink("../secret.png", filepath.Join(root, "link.png")))
	f := quarantine.Facts{Images: []string{"/one", "/many"}, ImageRoot: root}
	list := found(diagnosed(t, `{"one":"good.png","many":["wide.png","text.png","../secret.png","link.png","none.png","","a\u0000b"]}`, "", f), "media")
	var got []string
	for _, each := range list {
		require.True(t, each.Fault)
		got = append(got, pointed(each)+" "+each.Text)
	}
	require.Len(t, got, 7)
	for i, want := range []string{
		"media/sides-too-long /many/0 @26", "media/unknown-type /many/1 @37", "media/no-file /many/2 @48", "media/no-file /many/3 @64", "media/no-file /many/4 @75",
		"media/no-file /many/5 @86", "media/no-file /many/6 @89",
	} {
		require.True(t, strings.HasPrefix(got[i], want), got[i])
		require.NotContains(t, got[i], dir)
	}
}

func TestWhatAFailureSaysIsWeighed(t *testing.T) {
	t.Parallel()
	m := siding.Message{Body: []byte(`{}`), Reason: siding.ReasonAttemptsExhausted, LastError: &siding.LastError{
		Cause: siding.CauseServerError, Text: "upstream \x1b[31m is gone", Status: 502, RequestID: "req_1",
	}}
	list := quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, quarantine.Facts{})
	require.Len(t, list, 1)
	require.Equal(t, `HTTP 502, request req_1: upstream \x1b[31m is gone. This does not lie in the body: a redrive as it is may succeed`, list[0].Text)
	require.False(t, list[0].Fault)

	m.LastError.Cause = siding.CauseTemplate
	m.Body = []byte(`{"a":1}`)
	checked := func(failure *siding.Failure) []quarantine.Finding {
		return quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, quarantine.Facts{Check: func(siding.Message) *siding.Failure { return failure }})
	}
	require.Equal(t, "passes-now", found(checked(nil), "recipe")[0].Code)
	again := found(checked(&siding.Failure{Cause: siding.CauseTemplate}), "recipe")
	require.Equal(t, "template", again[0].Code)
	require.True(t, again[0].Fault)

	m.NoBody, m.Body = true, nil
	list = quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, quarantine.Facts{})
	require.Len(t, list, 1)
	require.Contains(t, list[0].Text, "Its body has been dropped: enqueue it again")
	require.Empty(t, quarantine.Suggest(list))
}

func TestRepairsThatDoNotMendAreNotSuggested(t *testing.T) {
	t.Parallel()
	f := quarantine.Facts{Check: func(m siding.Message) *siding.Failure {
		if utf8.Valid(m.Body) {
			return &siding.Failure{Cause: siding.CauseTemplate}
		}
		return &siding.Failure{Cause: siding.CauseInvalidUTF8}
	}}
	list := diagnosed(t, "{\"a\":\"\xff\"}", siding.CauseInvalidUTF8, f)
	last := list[len(list)-1]
	require.Equal(t, "repairs/not-mended", pointed(last))
	require.Contains(t, last.Text, "strip-invalid-utf8 gives a body that cannot be sent: the result would be set aside again (template)")
	require.Empty(t, quarantine.Suggest(list))
}

func TestFindingsAreBoundedAndSafe(t *testing.T) {
	t.Parallel()
	list := diagnosed(t, `["`+strings.Repeat("\xffa", 1_000_000)+`"]`, siding.CauseInvalidUTF8, quarantine.Facts{})
	utf := found(list, "utf8")
	require.Len(t, utf, quarantine.MaxFindings+1)
	require.Equal(t, "and 999980 more", utf[quarantine.MaxFindings].Text)
	for _, f := range list {
		for _, r := range f.Text {
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%q", f.Text)
		}
	}
}

// Each of these is large enough that what takes time beyond proportion does not come to its end here.
func TestHostileBodiesAreDiagnosed(t *testing.T) {
	t.Parallel()
	f := facts(t, "../examples/wallpapers/recipe.yaml")
	for name, body := range map[string]string{
		"brackets":           strings.Repeat("[", 2<<20),
		"deep":               strings.Repeat(`{"a":`, 9_999) + "1" + strings.Repeat("}", 9_999),
		"deep with bad text": strings.Repeat(`[`, 9_999) + "\"\xff\\ud800\\u0000" + strings.Repeat("x", 256<<10) + `"` + strings.Repeat("]", 9_999),
		"many small fields":  `{"a":0` + strings.Repeat(`,"b":1`, 256<<10) + `}`,
		"quotes":             `{"a":"` + strings.Repeat(`" `, 512<<10) + `"}`,
		"commas":             `[1` + strings.Repeat(`,`, 512<<10) + `]`,
		"control":            strings.Repeat("\x00\x1b", 512<<10),
		"surrogates":         `["` + strings.Repeat(`\ud800`, 256<<10) + `"]`,
		"bad bytes":          strings.Repeat("\xff", 2<<20),
		"base64":             `{"a":"data:image/png;base64,` + strings.Repeat("iVBORw0KGgo", 256<<10) + `"}`,
		"blank":              strings.Repeat(" ", 2<<20),
		"nothing":            "",
		"backslashes":        `{"a":"` + strings.Repeat(`\`, 1<<20) + `"}`,
	} {
		for _, facts := range []quarantine.Facts{{}, f} {
			m := siding.Message{Body: []byte(body), LastError: &siding.LastError{Cause: siding.CauseInvalidJSON, Text: "x"}}
			list := quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, facts)
			require.NotEmpty(t, list, name)
			for _, each := range list {
				require.NotEqual(t, "check-panicked", each.Code, "%s: %+v", name, each)
				require.LessOrEqual(t, len(each.Text), siding.MaxErrorText)
			}
			text, err := json.Marshal(list)
			require.NoError(t, err)
			require.Less(t, len(text), 200_000, name)
		}
	}
}

func FuzzDiagnosing(f *testing.F) {
	for _, seed := range []string{`{"a":"x\ud83c","b":[1,{"c":"d"}]}`, "\xff{", `{"a":"x "y" z",`, `{"media_type":"image/png","data":"aaaa"}`, "plain \x00", `{"a":1,"a":2}`} {
		f.Add([]byte(seed), seed)
	}
	schema := []byte(`{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"string"}}}`)
	facts := quarantine.Facts{InputSchema: schema, OutputSchema: schema, MaxInputTokens: 5, Settings: true, Images: []string{"/a", "/b"}, ImageRoot: f.TempDir()}
	f.Fuzz(func(t *testing.T, body []byte, answer string) {
		given := string(body)
		for _, cause := range siding.Causes() {
			m := siding.Message{Body: body, LastError: &siding.LastError{Cause: cause, Text: answer}}
			list := quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m, Answer: []byte(answer)}, facts)
			require.Equal(t, given, string(body))
			for _, each := range list {
				require.NotEqual(t, "check-panicked", each.Code, "%+v", each)
				require.True(t, each.Offset == nil || *each.Offset >= 0 && *each.Offset <= int64(len(body)))
				_, err := quarantine.ParseRepairs(each.Repairs)
				require.NoError(t, err)
			}
			if texts, p := mends(t, m, facts, list); texts != nil {
				require.Equal(t, quarantine.Changed, p.Verdict, "%q %q: %s", body, texts, p.Problem)
			}
		}
	})
}

func TestChecksCanBeAdded(t *testing.T) {
	t.Parallel()
	own := quarantine.Check{Name: "own-check", Find: func(_ context.Context, s quarantine.Subject, _ quarantine.Facts) []quarantine.Finding {
		switch s.Message.ID {
		case "own":
			return slices.Repeat([]quarantine.Finding{{Code: "own", Text: "x\x1b"}}, 30)
		case "panic":
			panic("oh\x1b")
		}
		return nil
	}}
	require.NoError(t, quarantine.Register(own))
	require.ErrorContains(t, quarantine.Register(own), "already")
	for _, taken := range []string{"json", "repairs"} {
		require.ErrorContains(t, quarantine.Register(quarantine.Check{Name: taken, Find: own.Find}), "already")
	}
	require.ErrorContains(t, quarantine.Register(quarantine.Check{Name: "Own", Find: own.Find}), "is no name")
	require.ErrorContains(t, quarantine.Register(quarantine.Check{Name: "empty"}), "nothing that finds")
	require.Contains(t, quarantine.CheckNames(), "own-check")

	m := siding.Message{ID: "own", Body: []byte("{}")}
	list := quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, quarantine.Facts{})
	require.Len(t, list, quarantine.MaxFindings+1)
	require.Equal(t, quarantine.Finding{Check: "own-check", Code: "own", Text: `x\x1b`, Repairs: []string{}}, list[0])
	require.Equal(t, "and 10 more", list[quarantine.MaxFindings].Text)
	m.ID, m.Body = "panic", []byte("{")
	list = quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, quarantine.Facts{})
	require.Equal(t, []string{"json/truncated-end  @1", "own-check/check-panicked"}, []string{pointed(list[0]), pointed(list[1])})
	require.Equal(t, `the check panicked: oh\x1b`, list[1].Text)

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_ = quarantine.Register(own)
			quarantine.Diagnose(context.Background(), quarantine.Subject{Message: m}, quarantine.Facts{})
		})
	}
	all.Wait()
}
