package recipe

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestEveryFaultHasItsPlaceAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	put(t, dir, "broken.json", "{\n  \"type\": object\n}")
	put(t, dir, "odd.json", `{"type":"objekt"}`)
	put(t, dir, "remote.json", `{"$ref":"https://example.com/x.json"}`)
	put(t, dir, "relative.json", `{"type":"array","items":{"$ref":"record.schema.json"}}`)
	put(t, dir, "ring.json", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`)
	put(t, dir, "huge.json", strings.Repeat(" ", 1<<20)+"{}")
	with := func(more string) string { return small + more }
	change := func(from, to string) string { return strings.Replace(small, from, to, 1) }
	for name, c := range map[string]struct{ text, want string }{
		// The file.
		"empty":               {"", "r.yaml: the recipe is empty"},
		"a comment alone":     {"# x\n", "r.yaml: the recipe is empty"},
		"a list":              {"- a\n", "r.yaml:1:1: a recipe must be a group of keys, and is a list"},
		"a word":              {"hello\n", "r.yaml:1:1: a recipe must be a group of keys, and is a text"},
		"two documents":       {with("---\nversion: 1\n"), "r.yaml:8:1: a second document begins here"},
		"no YAML":             {with("input: {id: /id\n"), "r.yaml:7:8: it is not valid YAML: could not find flow mapping end token '}'"},
		"a tab":               {with("input:\n\tid: /id\n"), "r.yaml:8:1: it is not valid YAML: found character '\t' that cannot start any token; indent with spaces"},
		"a key twice":         {with("queue: x\n"), `r.yaml:7:1: it is not valid YAML: mapping key "queue" already defined at [2:1]`},
		"invalid UTF-8":       {with("# é\xff\n"), "r.yaml:7:4: byte 0xff is not UTF-8"},
		"a control character": {with("# \x1b[2J\n"), "r.yaml:7:3: here stands the control character U+001B"},
		"NUL":                 {with("# \x00\n"), "r.yaml:7:3: here stands the control character U+0000"},
		"very large":          {strings.Repeat("# x\n", 100_000), "is it a recipe?"},
		"an anchor":           {with("concurrency: &c 3\n"), "r.yaml:7:14: anchors, aliases and tags are not read"},
		"a tag":               {with("concurrency: !!int 3\n"), "r.yaml:7:14: anchors, aliases and tags are not read"},
		"a merge":             {with("<<: {concurrency: 3}\n"), "r.yaml:7:1: a key must be a plain word"},
		"a number as a key":   {with("1: x\n"), "r.yaml:7:1: a key must be a plain word, and this is a number"},

		// Keys.
		"an unknown key":           {with("zebra: 1\n"), "r.yaml:7:1: there is no key zebra; there are version, queue, input,"},
		"a misspelt key":           {with("concurency: 3\n"), "r.yaml:7:1: there is no key concurency; did you mean concurrency?"},
		"swapped letters":          {with("retry: {bsae: 1s}\n"), "r.yaml:7:9: there is no key bsae in retry; did you mean base?"},
		"capitals":                 {change("queue", "Queue"), "r.yaml:2:1: there is no key Queue; did you mean queue?"},
		"a key one group too high": {with("max_tokens: 3\n"), "r.yaml:7:1: there is no key max_tokens; max_tokens belongs into the group claude"},
		"a key one group too low":  {with("  concurrency: 3\n"), "r.yaml:7:3: there is no key concurrency in claude; concurrency belongs at the left margin, not into a group"},
		"a path as a key":          {with("retry.base: 3s\n"), "r.yaml:7:1: there is no key retry.base"},
		"a hostile key":            {with("\"\\e[2J\": 3\n"), `there is no key \x1b[2J`},
		"no value":                 {with("concurrency:\n"), "r.yaml:7:1: concurrency has no value"},
		"an empty group":           {with("retry:\n"), "r.yaml:7:1: retry has no value"},
		"a text for a group":       {with("retry: often\n"), "r.yaml:7:8: retry must be a group of keys, and is a text"},

		// What must be there.
		"no version":       {change("version: 1\n", ""), "r.yaml: version is missing; begin the recipe with version: 1"},
		"a newer version":  {change("version: 1", "version: 2"), "r.yaml:1:10: the recipe is of version 2, and this program reads version 1"},
		"version 0":        {change("version: 1", "version: 0"), "r.yaml:1:10: version is 0; it must be at least 1"},
		"a text version":   {change("version: 1", "version: one"), "r.yaml:1:10: version must be a whole number, and is a text"},
		"no queue":         {change("queue: tag-jobs\n", ""), "r.yaml: queue is missing"},
		"no handler":       {"version: 1\nqueue: q\n", "r.yaml: nothing says what to do with a record"},
		"no model":         {change("  model: claude-haiku-4-5\n", ""), "r.yaml:3:1: claude.model is missing; give the name of a model"},
		"no max_tokens":    {change("  max_tokens: 1024\n", ""), "r.yaml:3:1: claude.max_tokens is missing"},
		"no prompt":        {change("  prompt: \"{{.title}}\"\n", ""), "r.yaml:3:1: claude.prompt is missing"},
		"an empty model":   {change("claude-haiku-4-5", `""`), "r.yaml:4:10: claude.model: "},
		"an empty prompt":  {change("{{.title}}", " "), "r.yaml:6:11: claude.prompt: it is empty"},
		"max_tokens 0":     {change("1024", "0"), "r.yaml:5:15: claude.max_tokens is 0; it must be at least 1"},
		"max_tokens -1":    {change("1024", "-1"), "r.yaml:5:15: claude.max_tokens is -1; it must be at least 1"},
		"max_tokens 1.5":   {change("1024", "1.5"), "r.yaml:5:15: claude.max_tokens must be a whole number, and is a number"},
		"max_tokens large": {change("1024", "99999999999999999999"), "r.yaml:5:15: claude.max_tokens"},

		// Values.
		"a bad queue":          {change("tag-jobs", "tag jobs"), `r.yaml:2:8: the queue's name is "tag jobs"; it may have letters, digits, dots, - and _`},
		"an empty queue":       {change("tag-jobs", `""`), "r.yaml:2:8: the queue's name has 0 letters"},
		"a long queue":         {change("tag-jobs", strings.Repeat("q", 129)), "it must have 1 to 128"},
		"a number as a queue":  {change("tag-jobs", "12"), "r.yaml:2:8: queue must be a text, and is a number; put it in quotes"},
		"no pointer":           {with("input: {id: id}\n"), `r.yaml:7:13: input.id: a JSON Pointer begins with /; did you mean "/id"?`},
		"an empty pointer":     {with("input: {id: ''}\n"), "r.yaml:7:13: input.id is empty"},
		"a bad pointer":        {with("input: {id: /a~2}\n"), "r.yaml:7:13: input.id: in the JSON Pointer"},
		"concurrency 0":        {with("concurrency: 0\n"), "r.yaml:7:14: concurrency is 0; it must be 1 to 1000"},
		"concurrency 1001":     {with("concurrency: 1001\n"), "it must be 1 to 1000"},
		"on_unknown":           {with("on_unknown: resent\n"), `r.yaml:7:13: on_unknown is "resent"; it must be resend or quarantine`},
		"negative retries":     {with("retry: {max_retries: -1}\n"), "r.yaml:7:22: retry.max_retries is -1; it must be 0 to 1000000"},
		"a delay without unit": {with("retry: {base: 5}\n"), "r.yaml:7:15: retry.base is 5, without a unit; write for instance 5s"},
		"no delay":             {with("retry: {base: 0s}\n"), "r.yaml:7:15: retry.base is 0s; it must be more than 0"},
		"a negative delay":     {with("retry: {cap: -1s}\n"), "r.yaml:7:14: retry.cap is -1s; it must be more than 0"},
		"a long delay":         {with("retry: {cap: 1000000h}\n"), "r.yaml:7:14: retry.cap is 1000000h0m0s; it must be"},
		"an odd delay":         {with("retry: {cap: soon}\n"), `r.yaml:7:14: retry.cap is "soon", which is no duration`},
		"a factor under 1":     {with("retry: {factor: 0.5}\n"), "r.yaml:7:17: retry.factor is 0.5; it must be a number of at least 1"},
		"an endless factor":    {with("retry: {factor: .inf}\n"), "r.yaml:7:17: retry.factor must be a finite decimal number"},
		"jitter over 10":       {with("retry: {jitter: 11}\n"), "r.yaml:7:17: retry.jitter is 11; it must be 0 to 10"},
		"a cause that is none": {with("retry: {gray: [refusd]}\n"), `r.yaml:7:15: retry.gray lists "refusd", which is not a cause; did you mean refused?`},
		"a text for a list":    {with("retry: {gray: refused}\n"), "r.yaml:7:15: retry.gray must be a list, and is a text; write [a, b]"},
		"a number in a list":   {with("  stop_sequences: [1]\n"), "r.yaml:7:20: each entry of claude.stop_sequences must be a text, and is a number"},
		"an empty stop":        {with("  stop_sequences: ['']\n"), "r.yaml:7:19: claude.stop_sequences: entry 1 has no text"},
		"a short timeout":      {with("  timeout: 10ms\n"), "r.yaml:7:12: claude.timeout: it is 10ms; it must be from 1s to 1h"},
		"no input tokens":      {with("preflight: {max_input_tokens: 0}\n"), "r.yaml:7:31: preflight.max_input_tokens is 0; it must be at least 1"},

		// Files.
		"a missing schema":   {with("input: {schema: none.json}\n"), "r.yaml:7:17: input.schema: " + filepath.Join(dir, "none.json")[:20]},
		"a folder as schema": {with("input: {schema: images}\n"), "it is a directory, and a file is needed"},
		"a broken schema":    {with("input: {schema: broken.json}\n"), "broken.json:2:11: it is not valid JSON: invalid character 'o'"},
		"an odd schema":      {with("  output: {schema: odd.json}\n"), "r.yaml:7:20: claude.output.schema: "},
		"a remote schema":    {with("input: {schema: remote.json}\n"), "r.yaml:7:17: input.schema: "},
		"a relative schema":  {with("input: {schema: relative.json}\n"), `relative.json: the schema refers to "record.schema.json": references outside the document are not followed`},
		"a schema in a ring": {with("  output: {schema: ring.json}\n"), `ring.json: at "/$defs/n/items/$ref": structured output takes no schema that contains itself`},
		"a huge schema":      {with("input: {schema: huge.json}\n"), "has more than 1048576 bytes"},
		"no images folder":   {with("  images: {fields: [/a], root: none}\n"), "r.yaml:7:32: claude.images.root: "},
		"images without it":  {with("  images: {fields: [/a]}\n"), "claude.images.root: it is missing"},
		"an image pointer":   {with("  images: {fields: [a], root: images}\n"), "r.yaml:7:20: claude.images.fields: "},
		"a broken escape":    {with("  images: {fields: [/a, /b~], root: images}\n"), `r.yaml:7:20: claude.images.fields: in the JSON Pointer "/b~" a ~ is followed by neither 0 nor 1`},
		"a tool for nothing": {with("  output: {via: tool}\n"), "r.yaml:7:17: claude.output.via: tool needs an output.schema"},
		"another way":        {with("  output: {via: mail}\n"), `r.yaml:7:17: claude.output.via is "mail"; it must be schema or tool`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse("r.yaml", []byte(c.text), dir)
			require.Nil(t, r)
			var all Errors
			require.ErrorAs(t, err, &all)
			require.Len(t, all, 1, "one fault, one error: %v", err)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheLineWithinAPrompt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ prompt, want string }{
		"in a block":         {"|\n\n    Title: {{.title}}\n      {{if .x}}\n    {{nosuch .x}}\n", `r.yaml:10:5: claude.prompt: function "nosuch" not defined`},
		"in a stripped one":  {"|-\n    {{.title}\n", `r.yaml:7:5: claude.prompt: `},
		"in one line":        {"'{{.title'\n", `r.yaml:6:11: claude.prompt: `},
		"in a folded one":    {">\n    a\n    {{.title}\n", `r.yaml:6:11: claude.prompt: `},
		"an end too many":    {"|\n    {{end}}\n", `r.yaml:7:5: claude.prompt: unexpected {{end}}`},
		"an end that is not": {"|\n    a\n    {{if .x}}\n    b\n", "claude.prompt: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(small, "\"{{.title}}\"\n", c.prompt, 1)
			_, err := Parse("r.yaml", []byte(text), t.TempDir())
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestWhatThisVersionCannotDoIsRefusedNotIgnored(t *testing.T) {
	t.Parallel()
	const text = `version: 1
queue: tag-jobs
claude:
  model: claude-haiku-4-5
  max_tokens: 1024
  prompt: "{{.title}}"
  mode: batch
`
	_, err := Parse("r.yaml", []byte(text), t.TempDir())
	var all Errors
	require.ErrorAs(t, err, &all)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 1)
	for i, want := range []string{
		"r.yaml:7:9: claude.mode: batch is not supported in this version",
	} {
		require.True(t, strings.HasPrefix(lines[i], want), lines[i])
	}
	_, err = Parse("r.yaml", []byte(small+"budget: {usd: 1e3}\nalert: {dead: 0, new_group: 1}\n"), t.TempDir())
	for _, want := range []string{`7:15: budget.usd: "1e3" is no amount`, "8:15: alert.dead is 0", "8:29: alert.new_group must be true or false"} {
		require.ErrorContains(t, err, want)
	}
}

func TestSeveralFaultsAreReportedTogetherInTheirOrder(t *testing.T) {
	t.Parallel()
	_, err := Parse("r.yaml", []byte("version: 1\nquue: x\nclaude:\n  model: ''\n  max_tokens: 0\n  prompt: '{{'\nconcurrency: 0\nretry: {base: 1}\n"), t.TempDir())
	var all Errors
	require.ErrorAs(t, err, &all)
	var lines []int
	for _, each := range all {
		lines = append(lines, each.Line)
		require.NotEmpty(t, each.Error())
		require.ErrorIs(t, err, each)
	}
	require.Equal(t, []int{2, 4, 5, 6, 7, 8}, lines, "that the queue is missing goes without saying")

	_, err = Parse("r.yaml", []byte(strings.Repeat("- a\n", 3)+"x"), t.TempDir())
	require.ErrorContains(t, err, "r.yaml:")
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, "key%d: 1\n", i)
	}
	_, err = Parse("r.yaml", []byte(small+many.String()), t.TempDir())
	require.Len(t, strings.Split(err.Error(), "\n"), 21)
	require.ErrorContains(t, err, "\nand 80 more")
}

func TestAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := Load(filepath.Join(t.TempDir(), "no\x1bsuch.yaml"))
	require.ErrorContains(t, err, `no\x1bsuch.yaml: open: no such file`)
	_, err = Load(t.TempDir())
	require.ErrorContains(t, err, "it is a directory")
}

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]siding.Money{
		"0": 0, "5": 5 * siding.USD, "5.00": 5 * siding.USD, "0.1": siding.USD / 10, "0.000000000001": 1,
		"0.0000000000010000": 1, "007.5": 7*siding.USD + siding.USD/2, "9000000": 9_000_000 * siding.USD, "0.29": 290_000_000_000,
	} {
		m, err := ParseMoney(text)
		require.NoError(t, err, text)
		require.Equal(t, want, m, text)
	}
	for _, text := range []string{"", ".", "5.", ".5", "-1", "+1", "1e3", "1,5", "0x1", "1_000", "5 ", "0.0000000000001", "9000000.000001", "99999999", strings.Repeat("9", 100), "٣", "\x1b"} {
		_, err := ParseMoney(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "\x1b")
	}
	rapid.Check(t, func(t *rapid.T) {
		m := siding.Money(rapid.Int64Range(0, int64(9_000_000*siding.USD)).Draw(t, "m"))
		digits := strings.Repeat("0", 20) + rapidText(m)
		got, err := ParseMoney(digits[:len(digits)-12] + "." + digits[len(digits)-12:])
		require.NoError(t, err)
		require.Equal(t, m, got)
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{small, everything, "a: [", "{{", "- - -", "version: 1\nclaude: {prompt: |\n x", "? ?", "a: &a *a"} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := Parse("r.yaml", src, dir)
		if (err == nil) != (r != nil) {
			t.Fatal("neither a recipe nor an error, or both")
		}
		if r != nil {
			require.NoError(t, r.Policy().Validate())
			require.NotEmpty(t, r.Digest())
			return
		}
		require.NotEmpty(t, err.Error())
		for _, c := range err.Error() {
			if c < ' ' && c != '\n' && c != '\t' {
				t.Fatalf("a control character in %q", err.Error())
			}
		}
	})
}
