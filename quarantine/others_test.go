package quarantine

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestControlCharactersAreStripped(t *testing.T) {
	t.Parallel()
	got, err := applied("{\"a\":\"x\x00\x07y\u0085\\u0000\\b\\n\\\\u0000\\u009fz\"}\r\n", "strip-control")
	require.NoError(t, err)
	require.Equal(t, "{\"a\":\"xy\\n\\\\u0000z\"}\r\n", got)
	text, err := stripControl(Draft{Body: []byte(`C:\bin`), ContentType: "text/plain"})
	require.NoError(t, err)
	require.Equal(t, `C:\bin`, string(text), "plain text has no escapes")
}

func TestLoneSurrogatesAreReplaced(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`"a\ud83c"`:                    "\"a\\ufffd\"",
		`"\ud83c\ud83d\ude00"`:         `"\ufffd\ud83d\ude00"`,
		`"\ude00\ud83d"`:               `"\ufffd\ufffd"`,
		`"\\ud83c"`:                    `"\\ud83c"`,
		"\"\xed\xa0\xbd\"":             "\"\uFFFD\"",
		"\"\xed\xa0\xbd\xed\xb8\x80\"": "\"😀\"",
	} {
		got, err := applied(body, "fix-surrogates")
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = applied(got, "fix-surrogates")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestRequestSettingsAreHeaders(t *testing.T) {
	t.Parallel()
	r, err := ParseRepair(`request:max_tokens=4096,instruction="Answer in JSON, please: {}"`)
	require.NoError(t, err)
	require.Equal(t, `request:max_tokens=4096,instruction="Answer in JSON, please: {}"`, r.String())
	given := map[string]string{"x": "1", HeaderModel: "m"}
	d, err := r.Apply(t.Context(), Draft{Headers: given})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"x": "1", HeaderModel: "m", HeaderMaxTokens: "4096", HeaderInstruction: "Answer in JSON, please: {}"}, d.Headers)
	require.Len(t, given, 2)
	d, err = Repairs{must(ParseRepair("request:model="))}.Apply(t.Context(), d)
	require.NoError(t, err)
	require.NotContains(t, d.Headers, HeaderModel)

	for text, want := range map[string]string{
		"request":                         "give max_tokens=…",
		"request:max_tokens=0":            "max_tokens: \"0\" is no number of tokens",
		"request:max_tokens=+5":           "is no number of tokens",
		"request:max_tokens=99999999999":  "is no number of tokens",
		"request:model=a b":               "model: \"a b\" is no name of a model",
		"request:instruction=\" \"":       "instruction: it has only white space",
		"request:instruction=\"\\u0007\"": "instruction: it has control characters",
		"request:temperature=1":           "\"temperature\" is no argument; the arguments are max_tokens, model and instruction",
		"request:instruction=" + strings.Repeat("x", siding.MaxHeader+1): "it has 4097 bytes, and may have 4096",
	} {
		_, err := ParseRepair(text)
		require.ErrorContains(t, err, want)
	}
	m := siding.Message{Body: []byte(`{}`)}
	ok := func(siding.Message) *siding.Failure { return nil }
	require.Equal(t, Changed, Repairs{r}.Preview(t.Context(), m, Facts{Check: ok, Settings: true}).Verdict)
	require.Contains(t, Repairs{r}.Preview(t.Context(), m, Facts{Check: ok}).Problem, "asks no model")
}

func TestJQGivesOneBody(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`.a |= ascii_downcase`: `{"a":"x<","n":12345678901234567890,"z":1.10}`,
		`.`:                    ` {"z":1.10,"a":"X<","n":12345678901234567890}`,
		`del(.z) | .b = [.n]`:  `{"a":"X<","b":[12345678901234567890],"n":12345678901234567890}`,
	} {
		got, err := applied(` {"z":1.10,"a":"X<","n":12345678901234567890}`, "jq:"+expr)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for expr, want := range map[string]string{
		`.a, .n`:                     "more than one value",
		`empty`:                      "gives nothing",
		`.a[`:                        "cannot be read",
		`.b.c.d | error("\(.)")`:     "the expression failed",
		`nonsense`:                   "cannot be used",
		`$ENV.PATH | tojson | error`: "the expression failed",
		`input`:                      "the expression",
	} {
		_, err := applied(`{"a":1,"n":2,"b":{}}`, "jq:"+expr)
		require.ErrorContains(t, err, want, expr)
		require.NotContains(t, err.Error(), os.Getenv("PATH"))
	}
	_, err := applied(`{"a":`, "jq:.")
	require.ErrorContains(t, err, "mend that first")
	_, err = ParseRepair("jq")
	require.ErrorContains(t, err, "give an expression")
	_, err = applied(`1`, "jq:[limit(3;repeat(1))] | until(false; .)")
	require.ErrorContains(t, err, "took more than 2s")
}

func TestACommandMakesTheBody(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
	got, err := applied(`{"a":1}`, `command:sh -c 'cat; printf "%s" "$0-$ANTHROPIC_API_KEY"' "a b"`)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}a b-`, got)
	got, err = applied("x", "command:true")
	require.NoError(t, err)
	require.Empty(t, got)
	for text, want := range map[string]string{
		`command:`:                            "nothing stands after the colon",
		`command:'a`:                          "does not end",
		`command:a\`:                          "ends in a backslash",
		`command: `:                           "give a program",
		`command:no-such-program-here`:        "the program failed: ",
		`command:sh -c 'echo oh >&2; exit 3'`: "exit status 3: oh",
		`command:sh -c 'printf "\033[31m" >&2; exit 1'`: `\x1b[31m`,
	} {
		_, err := applied("x", text)
		require.ErrorContains(t, err, want, text)
	}
	_, err = applied("x", "command:false")
	require.Regexp(t, "exit status 1$", err.Error(), "a program that says nothing leaves no colon behind")
}

func TestACancelledCommandTakesItsChildrenAlong(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	r := must(ParseRepair(`command:sh -c 'sleep 600 & echo $! > "$0/pid"; wait' ` + dir))
	ended := make(chan error, 1)
	go func() {
		_, err := r.Apply(ctx, Draft{})
		ended <- err
	}()
	var pid []byte
	require.Eventually(t, func() bool {
		pid, _ = os.ReadFile(dir + "/pid")
		return strings.HasSuffix(string(pid), "\n")
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool { return !alive(strings.TrimSpace(string(pid))) }, time.Minute, time.Millisecond)
}

// alive tells whether a process runs; one that is dead and not yet waited for does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestWordsAreSplitAsAShellDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`a  b`:              {"a", "b"},
		`a 'b c' "d e"`:     {"a", "b c", "d e"},
		`a\ b "c\"d\n" '\'`: {"a b", `c"d\n`, `\`},
		`"" x`:              {"", "x"},
		`$HOME *`:           {"$HOME", "*"},
	} {
		got, err := splitWords(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
