package claude

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

const templateRecord = `{"title":"Dunes","null":null,"empty":"","tags":["a","b"],"nested":{"x":"y","none":null},"n":1.50,"yes":true,"html":"<b>&\"'"}`

func renderText(t *testing.T, prompt string) (string, *siding.Failure) {
	t.Helper()
	tmpl, err := compilePrompt(prompt)
	require.NoError(t, err, prompt)
	record, f := parseRecord([]byte(templateRecord))
	require.Nil(t, f)
	return render(tmpl, record, maxRequest)
}

func TestTemplatesThatHaveWhatTheyNeed(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"{{.title}}":                    "Dunes",
		"{{ .title | printf \"%q\" }}":  `"Dunes"`,
		"{{.empty}}|":                   "|",
		"{{opt .missing}}|":             "|",
		"{{opt .null}}|":                "|",
		"{{opt .title}}":                "Dunes",
		"{{.missing | opt}}|":           "|",
		"{{opt .nested.none.deeper}}|":  "|",
		"{{opt .missing.deeper}}|":      "|",
		"{{json .tags}}":                `["a","b"]`,
		"{{json .nested}}":              `{"none":null,"x":"y"}`,
		"{{json .html}}":                `"<b>&\"'"`,
		"{{.html}}":                     `<b>&"'`,
		"{{.nested.x}}":                 "y",
		"{{(index .tags 1)}}":           "b",
		"{{range .tags}}[{{.}}]{{end}}": "[a][b]",
		"{{range $i, $t := .tags}}{{$i}}{{$t}} {{end}}":     "0a 1b ",
		"{{range .missing}}x{{else}}none{{end}}":            "none",
		"{{if .missing}}x{{else}}none{{end}}":               "none",
		"{{if .null}}x{{end}}|":                             "|",
		"{{with .missing}}x{{end}}|":                        "|",
		"{{with .nested}}{{.x}}{{$.title}}{{end}}":          "yDunes",
		"{{if and .title .missing}}x{{else}}no{{end}}":      "no",
		"{{or .missing \"else\"}}":                          "else",
		"{{if not .missing}}no{{end}}":                      "no",
		"{{$x := .title}}{{$x}}":                            "Dunes",
		"{{$x := .nested}}{{$x.x}}":                         "y",
		"{{.n}} {{.yes}}":                                   "1.50 true",
		"{{if eq .title \"Dunes\"}}same{{end}}":             "same",
		"{{len .tags}}":                                     "2",
		`{{define "d"}}{{.title}}{{end}}{{template "d" .}}`: "Dunes",
		"{{/* nothing */}}text":                             "text",
	} {
		got, f := renderText(t, prompt)
		require.Nil(t, f, "%s: %v", prompt, f)
		require.Equal(t, want, got, prompt)
	}
}

func TestAMissingOrNullFieldIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"{{.missing}}":                                     ".missing is missing or null",
		"{{.null}}":                                        ".null is missing or null",
		"{{.nested.none}}":                                 ".nested.none is missing or null",
		"{{.missing.deeper}}":                              ".missing.deeper is missing or null",
		"{{json .missing}}":                                ".missing is missing or null",
		"{{json .null}}":                                   ".null is missing or null",
		"{{printf \"%s\" .missing}}":                       ".missing is missing or null",
		"{{.missing | printf \"%s\"}}":                     ".missing is missing or null",
		"{{len .missing}}":                                 ".missing is missing or null",
		"{{if eq .missing \"a\"}}x{{end}}":                 ".missing is missing or null",
		"{{$x := .missing}}{{$x}}":                         "$x is missing or null",
		"{{index .nested \"other\"}}":                      "index .nested",
		"{{range .tags}}{{$.null}}{{end}}":                 "$.null is missing or null",
		`{{define "d"}}{{.gone}}{{end}}{{template "d" .}}`: ".gone is missing or null",
		"{{.tags}}":                                        "is a list; use {{json .tags}}",
		"{{.nested}}":                                      "is an object; use {{json .nested}}",
		"{{opt .nested}}":                                  "is an object",
		"{{.title.x}}":                                     "it is a text",
		"{{slice .title 40}}":                              "slice",
	} {
		_, f := renderText(t, prompt)
		require.NotNil(t, f, prompt)
		require.Equal(t, siding.CauseTemplate, f.Cause)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.True(t, f.NoCall)
		require.Contains(t, f.Error(), want, prompt)
		require.NotContains(t, f.Error(), "_need")
	}
}

func TestATemplateThatCutsACharacterIsAnError(t *testing.T) {
	t.Parallel()
	tmpl, err := compilePrompt("{{slice .t 0 1}}")
	require.NoError(t, err)
	_, f := render(tmpl, map[string]any{"t": "ü"}, maxRequest)
	require.NotNil(t, f)
	require.Contains(t, f.Error(), "cuts a character")
}

func TestATemplateThatIsNoneSaysWhere(t *testing.T) {
	t.Parallel()
	_, err := compilePrompt("line one\n{{.title")
	require.ErrorContains(t, err, "prompt:2")
	for _, bad := range []string{"", " \n", "{{unknown .x}}", "\xff"} {
		_, err := compilePrompt(bad)
		require.Error(t, err, bad)
	}
}

func TestNoValueIsNeverPrinted(t *testing.T) {
	t.Parallel()
	pipe := rapid.StringMatching(`(opt |json |printf "%v" |or "" )?(\.(a|b|c)(\.(a|b))?|\$\.a)( \| (opt|json|printf "%v"))?`)
	rapid.Check(t, func(t *rapid.T) {
		action := pipe.Draw(t, "pipe")
		shape := rapid.SampledFrom([]string{"{{P}}", "{{with P}}{{.}}{{end}}", "{{$v := P}}{{$v}}", "{{range .list}}{{with $}}{{P}}{{end}}{{end}}"}).Draw(t, "shape")
		text := ""
		for i := range len(shape) {
			if shape[i] == 'P' {
				text += action
				continue
			}
			text += shape[i : i+1]
		}
		tmpl, err := compilePrompt(text)
		if err != nil {
			t.Skip("not a template")
		}
		record := map[string]any{"list": []any{"x", nil}}
		for _, k := range []string{"a", "b"} {
			switch rapid.IntRange(0, 3).Draw(t, k) {
			case 0:
				record[k] = nil
			case 1:
				record[k] = "text"
			case 2:
				record[k] = map[string]any{"a": nil, "b": "text"}
			}
		}
		out, f := render(tmpl, record, maxRequest)
		if f != nil {
			return
		}
		for _, bad := range []string{"no value", "nil", "map["} {
			if strings.Contains(out, bad) {
				t.Fatalf("%s gives %q", text, out)
			}
		}
	})
}
