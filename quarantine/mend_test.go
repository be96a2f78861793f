package quarantine

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBrokenJSONIsMendedWhereItHasOneReading(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		// As it is.
		` {"a" : [1 , 2]} `: ` {"a" : [1 , 2]} `,
		// Control characters in a text.
		"{\"a\":\"x\ny\tz\x00\r\"}": `{"a":"x\ny\tz\u0000\r"}`,
		"{\"a\nb\":1}":              `{"a\nb":1}`,
		// Commas too many.
		`{"a":[1,2, ] , }`: `{"a":[1,2 ]  }`,
		// A byte order mark.
		"\xef\xbb\xbf{\"a\":1}": `{"a":1}`,
		// Quotation marks in a text.
		`{"a":"the "best" of "all", ever","b":1}`: `{"a":"the \"best\" of \"all\", ever","b":1}`,
		`{"a":""best" of all"}`:                   `{"a":"\"best\" of all"}`,
		`{"a":"he said "no", and "yes""}`:         `{"a":"he said \"no\", and \"yes\""}`,
		`["a "b" c","d"]`:                         `["a \"b\" c","d"]`,
		`{"a":"["x","y"]","e":1}`:                 `{"a":"[\"x\",\"y\"]","e":1}`,
		"{\"a\":\"the \"best\"\nof all\",}":       `{"a":"the \"best\"\nof all"}`,
		// An end that was cut off.
		`{"a":"x`:                      `{"a":"x"}`,
		`{"a":"x\`:                     `{"a":"x"}`,
		`{"a":"x\u00`:                  `{"a":"x"}`,
		`{"a":"x\ud83d`:                `{"a":"x"}`,
		`{"a":"x\ud83d\ude`:            `{"a":"x"}`,
		`{"a":"x\ud83d\ude00`:          `{"a":"x\ud83d\ude00"}`,
		`{"a":"x\\ud83d`:               `{"a":"x\\ud83d"}`,
		"{\"a\":\"x\xf0\x9f\x98":       `{"a":"x"}`,
		`{"a":[{"b":1},{"c":"d"`:       `{"a":[{"b":1},{"c":"d"}]}`,
		`{"a":[1,2`:                    `{"a":[1]}`,
		"[1,2\n":                       "[1,2\n]",
		`{"a":1,"b`:                    `{"a":1}`,
		`{"a":1,"b"`:                   `{"a":1}`,
		`{"a":1,"b" :`:                 `{"a":1}`,
		"{\"a\":\"\n\",\"b\n":          `{"a":"\n"}`,
		`{"a":1,`:                      `{"a":1}`,
		`{"a":12`:                      `{}`,
		`{"a":tru`:                     `{"a":true}`,
		`{"a":true`:                    `{"a":true}`,
		`[n`:                           `[null]`,
		`[`:                            `[]`,
		`"abc`:                         `"abc"`,
		`{"id": "r-102", "t": "3.1 C"`: `{"id": "r-102", "t": "3.1 C"}`,
	} {
		got, err := fixJSON(Draft{Body: []byte(body)})
		require.NoError(t, err, body)
		require.Equal(t, want, string(got), body)
	}
}

func TestWhatHasSeveralReadingsIsLeftAlone(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"":                                  "nothing in it",
		" ":                                 "nothing in it",
		`{"a":5" disk","b":1}`:              "comma",
		`{"a":"5" disk","b":1}`:             "as one of a pair around words",
		`{"a":"a "b c","d":1}`:              "odd number",
		`{"a":"say "no","yes":"maybe" ok"}`: "odd number",
		`{"a":"{"b":"c","d":"e"}","f":1}`:   "odd number",
		`{"a":"x "y" - ","- ":"- z"}`:       "this quotation mark could end its text or stand in it",
		`{"a":"x "y" z","b":"cut of`:        "together that can be read in several ways",
		`{"a":"x","b":"y}`:                  "a quotation mark is missing or not escaped, or the end was cut off",
		`["x ",["] y"]`:                     "could stand in a text",
		`{"a "b" c":1}`:                     "after a key there should be a colon",
		`{"a":1 "b":2}`:                     "comma",
		`{"a":[1,2}`:                        "closes what",
		`{'a':1}`:                           "single quotes",
		`{"a":NaN}`:                         "NaN is no value",
		`{"a":True}`:                        "True is no value",
		`{a:1}`:                             "a key in quotation marks",
		`{"a":1} // b`:                      "something follows",
		`{"a":1}{"b":2}`:                    "something follows",
		`[1,,2]`:                            "a comma stands where a value must be",
		`{"a":"C:\Pictures"}`:               `\P is no escape`,
		`[01]`:                              "no number",
		`-`:                                 "middle of a number",
		strings.Repeat("[", 20_000):         "nested deeper",
	} {
		_, err := fixJSON(Draft{Body: []byte(body)})
		require.ErrorContains(t, err, want, "%.60s", body)
	}
}

// paired tells, in other words than the repair, whether the quotation marks in a text stand in pairs around words.
func paired(text string) bool {
	parts := strings.Split(text, `"`)
	if len(parts)%2 == 0 {
		return false
	}
	for i, part := range parts {
		first, _ := utf8.DecodeRuneInString(part)
		last, _ := utf8.DecodeLastRuneInString(part)
		outside := i%2 == 0
		if outside && (i > 0 && isWordRune(first) || i < len(parts)-1 && isWordRune(last)) {
			return false
		}
	}
	return true
}

// hostile draws texts that look like JSON as much as they can.
var hostile = rapid.OneOf(
	rapid.StringOfN(rapid.SampledFrom([]rune(`"",:{}[] ab-1\`+"\n")), 0, 12, -1),
	rapid.SampledFrom([]string{
		`the "best" one`, `"x", "y": "z"`, ` ","- ":"- `, `a","b":"c`, `["x","y"]`, `{"a":"b","c":[1]}`, `no",`, `",["`, `"}`, ` "}," `, `x"],"y"`,
	}),
	rapid.StringOfN(rapid.RuneFrom([]rune(`"a é😀`)), 0, 8, -1),
)

func unescaped(p piece) string { return `"` + p.says + `"` }

func TestJSONThatWasBrokenComesBackOrIsLeftAlone(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(t *rapid.T, d document) (string, bool){
		"as it is": func(_ *rapid.T, d document) (string, bool) { return d.String(), true },
		"control characters": func(t *rapid.T, d document) (string, bool) {
			for i := range d {
				if d[i].says != "" {
					d[i].text = strings.NewReplacer(`\\`, `\\`, `\n`, "\n", `\t`, "\t").Replace(d[i].text)
				}
			}
			return d.String(), false
		},
		"commas": func(t *rapid.T, d document) (string, bool) {
			before := ""
			for i := range d {
				if c := d[i].text; (c == "}" || c == "]") && before != "{" && before != "[" && rapid.Bool().Draw(t, "comma") {
					d[i].text = "," + c
				}
				if strings.TrimSpace(d[i].text) != "" {
					before = d[i].text
				}
			}
			return d.String(), false
		},
		"byte order mark": func(_ *rapid.T, d document) (string, bool) { return "\xef\xbb\xbf" + d.String(), true },
		"one quotation mark": func(t *rapid.T, d document) (string, bool) {
			text := d.String()
			var at []int
			for i := 0; i < len(text)-1; i++ {
				if text[i] == '\\' {
					if text[i+1] == '"' {
						at = append(at, i)
					}
					i++
				}
			}
			if len(at) == 0 {
				return text, true
			}
			i := rapid.SampledFrom(at).Draw(t, "at")
			return text[:i] + text[i+1:], false
		},
		"quotation marks of one text": func(t *rapid.T, d document) (string, bool) {
			var at []int
			for i, p := range d {
				if p.string && strings.Contains(p.says, `"`) && !strings.ContainsAny(p.says, "\\\n\t") && paired(p.says) {
					at = append(at, i)
				}
			}
			if len(at) > 0 {
				i := rapid.SampledFrom(at).Draw(t, "at")
				d[i].text = unescaped(d[i])
			}
			return d.String(), false
		},
		"quotation marks of all texts": func(t *rapid.T, d document) (string, bool) {
			for i, p := range d {
				if p.string && !strings.ContainsAny(p.says, "\\\n\t") && paired(p.says) {
					d[i].text = unescaped(d[i])
				}
			}
			return d.String(), false
		},
		"all texts as they are": func(_ *rapid.T, d document) (string, bool) {
			for i, p := range d {
				if p.string && !strings.ContainsRune(p.says, '\\') && paired(p.says) {
					d[i].text = unescaped(d[i])
				}
			}
			return d.String(), false
		},
	}
	for name, damage := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, same := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				d := drawDocument(t, hostile)
				whole := d.String()
				text, certain := damage(t, d)
				if text != whole && json.Valid([]byte(text)) && !reflect.DeepEqual(decoded(text), decoded(whole)) {
					return // nobody can see that it is damaged
				}
				got, err := fixJSON(Draft{Body: []byte(text)})
				if text != whole {
					broken++
				}
				if err != nil {
					require.False(t, certain, "%s: %v", text, err)
					return
				}
				if text != whole {
					same++
				}
				require.Equal(t, decoded(whole), decoded(string(got)), "%s\n%s\n%s", whole, text, got)
				if json.Valid([]byte(text)) {
					require.Equal(t, text, string(got))
				}
				again, err := fixJSON(Draft{Body: got})
				require.NoError(t, err)
				require.Equal(t, got, again)
			})
			t.Logf("%d of %d that were broken came back", same, broken)
		})
	}
}

// isBeginning tells whether a value is what is left of another one whose end was cut off: nothing in it is new, and only
// the last text in it may be shorter. whole is false as soon as something is missing.
func isBeginning(part, of any) bool {
	switch p := part.(type) {
	case string:
		o, ok := of.(string)
		return ok && strings.HasPrefix(o, p)
	case map[string]any:
		o, ok := of.(map[string]any)
		if !ok {
			return false
		}
		short := 0
		for k, each := range p {
			other, known := o[k]
			if !known || !isBeginning(each, other) {
				return false
			}
			if !reflect.DeepEqual(each, other) {
				short++
			}
		}
		return short <= 1
	case []any:
		o, ok := of.([]any)
		if !ok || len(p) > len(o) {
			return false
		}
		for i, each := range p {
			if !isBeginning(each, o[i]) || i < len(p)-1 && !reflect.DeepEqual(each, o[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(part, of)
}

func TestACutEndInventsNothing(t *testing.T) {
	t.Parallel()
	mended, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		whole := drawDocument(t, hostile).String()
		text := whole[:rapid.IntRange(0, len(whole)).Draw(t, "cut")]
		got, err := fixJSON(Draft{Body: []byte(text)})
		all++
		if err != nil {
			return
		}
		mended++
		require.True(t, utf8.Valid(got), "%q", got)
		require.True(t, isBeginning(decoded(string(got)), decoded(whole)), "%s\n%s\n%s", whole, text, got)
	})
	require.Greater(t, mended*10, all*7, "most cut ends have one reading")
}

func FuzzWhatIsMendedIsValid(f *testing.F) {
	for _, seed := range []string{`{"a":"x "y" z",}`, `{"a":tru`, "[\"\n", `{"a":"\ud83c`, `[[[1,2`, "\xef\xbb\xbf[1,]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		given := string(body)
		got, err := fixJSON(Draft{Body: body})
		require.Equal(t, given, string(body))
		if err != nil {
			require.NotContains(t, err.Error(), "cannot be mended", "it should have known before: %q", body)
			return
		}
		require.True(t, json.Valid(got), "%q gives %q", body, got)
		if json.Valid(body) {
			require.Equal(t, given, string(got))
		}
	})
}

// What takes time beyond proportion does not come to its end here.
func TestMendingTakesTimeInProportion(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{`",`, `" `, `","`, `"}`, `","x`, `" , "`, "\n", `\"`, `[`, `{"a":`, `[1,`, `" , "a" : `, ",", "}"} {
		for _, start := range []string{`{"a":"`, `["`, ``} {
			body := []byte(start + strings.Repeat(unit, (1<<20)/len(unit)))
			if got, err := fixJSON(Draft{Body: body}); err == nil {
				require.True(t, json.Valid(got), "%s %s", start, unit)
			}
		}
	}
}
