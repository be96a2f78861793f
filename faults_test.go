package siding_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// faults reads texts by the fault that each is of. Lines beginning with # name faults; \n, \t and \e stand for themselves.
func faults(t testing.TB, name string) (names []string, texts map[string][]string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/faults/" + name + ".txt")
	require.NoError(t, err)
	texts = map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		switch fault, named := strings.CutPrefix(line, "# "); {
		case named:
			require.NotContains(t, names, fault)
			names = append(names, fault)
		case line != "":
			last := names[len(names)-1]
			texts[last] = append(texts[last], strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\e`, "\x1b").Replace(line))
		}
	}
	return names, texts
}

func TestTextsOfTheSameFaultShareAFingerprintAndOthersDoNot(t *testing.T) {
	t.Parallel()
	// The rule was made by what is in golden. The others were written when it was done, to see how good it is: of the 62
	// faults in heldout it had 57 right, of the 31 in heldout2 29, and merged none; the rest were split, some by their own
	// mistake. After that it was mended for these too.
	for name, least := range map[string][2]int{"golden": {200, 90}, "heldout": {110, 60}, "heldout2": {58, 30}} {
		names, texts := faults(t, name)
		owner := map[string]string{}
		count := 0
		for _, fault := range names {
			var groups []string
			for _, text := range texts[fault] {
				count++
				normal := siding.NormalizeError(siding.Scrub(text, siding.MaxErrorText))
				if !slices.Contains(groups, normal) {
					groups = append(groups, normal)
				}
				if other := owner[normal]; other != "" && other != fault {
					t.Errorf("%s and %s are one group: %s", other, fault, normal)
				}
				owner[normal] = fault
			}
			if len(groups) > 1 {
				t.Errorf("%s is split:\n\t%s", fault, strings.Join(groups, "\n\t"))
			}
		}
		require.Greater(t, count, least[0], name)
		require.Greater(t, len(names), least[1], name)
	}
}

func TestWhatIsKeptAndWhatIsNot(t *testing.T) {
	t.Parallel()
	for text, normal := range map[string]string{
		"":                   "",
		"don't  panic":       "don't panic",
		"Don’t\tpanic!":      "don't panic",
		`field "title"`:      "field title",
		`user "title"`:       "user #",
		"missing /rows/3/a":  "missing rows # a",
		"open /rows/3/a":     "open #",
		"429 Too Many":       "429 too many",
		"429 records":        "# record",
		"status 429 records": "status 429 records",
		"SQLSTATE 23505":     "sqlstate 23505",
		"E1234: no":          "e1234 no",
		"order E-1: no":      "order # no",
		"a 5 MB b 1 byte c":  "a # b # c",
		"1 row, 2 rows":      "# row # row",
		"x, 1, 2 and 3 y":    "x # y",
		"got [1, 'a', null]": "got #",
		`{"error":{"message":"no 3","id":"x"},"at":7}`: "no #",
		`record {"title":"Dunes","n":7} is bad`:        "record # is bad",
		"a\x1b[31;1mb\x1b[0mc":                         "a b c",
		"a\x00b\xffc":                                  "a b c",
		"3 keys and 2 more":                            "# key",
		"at 12:30 on Mon, 2 Jan 2006 15:04:05 GMT":     "at # on #",
		"user=alice status=500 type=io_error":          "user # status 500 type io_error",
		"用户42不存在":                                      "用户 # 不存在",
		"l'erreur de l’utilisateur « Zoé »":            "l'erreur de l'utilisateur #",
	} {
		require.Equal(t, normal, siding.NormalizeError(text), text)
	}
}

// values are of the kinds that must not split a fault, made anew each time.
func values() *rapid.Generator[string] {
	hex := rapid.StringMatching(`[0-9][0-9a-f]{7,39}`)
	word := rapid.StringMatching(`[a-z]{1,10}`)
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(0, math.MaxInt32), func(n int) string { return fmt.Sprint(n) }),
		rapid.StringMatching(`[0-9]{1,3}(,[0-9]{3}){1,2}`), rapid.StringMatching(`-?[0-9]{1,5}\.[0-9]{1,4}`),
		rapid.StringMatching(`[0-9]{1,4}( bytes| MB|ms|s| seconds|GiB|%)`), rapid.SampledFrom([]string{"1 byte", "1 second", "1 minute", "2h45m0.5s"}),
		rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`), hex,
		rapid.Map(hex, func(s string) string { return "0x" + s[:min(len(s), 12)] }), rapid.StringMatching(`req_01[0-9A-Za-z]{20}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 20, 60), func(b []byte) string { return "9" + base64.StdEncoding.EncodeToString(b) }),
		rapid.Map(word, func(s string) string { return "/var/lib/" + s + "/" + s + ".db" }), rapid.Map(word, func(s string) string { return `C:\Users\` + s + `\x.txt` }),
		rapid.Map(word, func(s string) string { return "https://" + s + ".example.com/" + s + "?q=" + s }), rapid.Map(word, func(s string) string { return s + "@example.org" }),
		rapid.StringMatching(`[a-z]{3,9}-?[0-9]\.example\.com:[0-9]{2,5}`), rapid.StringMatching(`1[0-9]{2}\.[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(:[0-9]{2,5})?`),
		rapid.SampledFrom([]string{"[::1]:443", "2001:db8::1", "fe80::1%eth0", "2026-12-01T10:00:00.123Z", "2026-12-01", "12:59:01", "Tue, 01 Dec 2026 10:00:00 GMT", "1. Dezember 2026"}),
		rapid.Map(rapid.StringMatching(`[^"\\\n]{0,40}`), func(s string) string { return `"` + s + `"` }),
		rapid.Map(rapid.StringMatching(`[^„“”\n]{0,40}`), func(s string) string { return "„" + s + "“" }),
		rapid.Map(rapid.StringMatching(`[^«»\n]{0,40}`), func(s string) string { return "« " + s + " »" }),
		rapid.Map(rapid.StringMatching(`[^「」\n]{0,40}`), func(s string) string { return "「" + s + "」" }),
		rapid.Map(rapid.StringMatching("[^`'\n]{0,40}"), func(s string) string { return "`" + s + "`" }),
		rapid.Map(word, func(s string) string { return fmt.Sprintf(`{"title":%q,"n":[1,2,{"x":null}]}`, s) }),
	)
}

// vocabulary are words that are no values, in some languages; none is a word of which the rule knows more.
var vocabulary = []string{
	"connection", "refused", "broken", "pipe", "cannot", "reach", "broker", "invalid", "template", "missing", "overloaded", "unauthorized", "quota",
	"exceeded", "certificate", "expired", "unknown", "authority", "deadlock", "detected", "NullPointerException", "ECONNRESET", "unexpected", "token",
	"abgelehnt", "Verbindung", "ungültig", "überschritten", "introuvable", "refusé", "見つかりません", "接続できません", "不存在", "连接失败", "ошибкой", "недоступен",
	"مرفوض", "الاتصال",
}

func TestValuesNeverSplitAFault(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 2, 12).Draw(t, "words")
		say := func(label string) string {
			var b strings.Builder
			for i, w := range words {
				b.WriteString(w + " ")
				if i%2 == 0 {
					b.WriteString("<" + values().Draw(t, label) + ">" + rapid.SampledFrom([]string{" ", "  ", "\t", ", "}).Draw(t, label+" space"))
				}
			}
			return b.String()
		}
		a, b := say("one"), say("two")
		require.Equal(t, siding.NormalizeError(a), siding.NormalizeError(b), "%s\n%s", a, b)
		require.Equal(t, siding.Fingerprint("x", a), siding.Fingerprint("x", b))
	})
}

func TestAnotherWordIsAlwaysAnotherFault(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 12).Draw(t, "words")
		at := rapid.IntRange(0, len(words)-1).Draw(t, "at")
		other := slices.Clone(words)
		other[at] = rapid.SampledFrom(vocabulary).Filter(func(w string) bool { return w != words[at] }).Draw(t, "other")
		say := func(words []string) string {
			return strings.Join(words, " "+values().Draw(t, "value")+": ")
		}
		require.NotEqual(t, siding.Fingerprint("x", say(words)), siding.Fingerprint("x", say(other)))
		require.NotEqual(t, siding.Fingerprint("x", say(words)), siding.Fingerprint("y", say(words)))
	})
}

// hostile are texts that a rule could take long over, or fail at.
func hostile(n int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)+1) }
	return map[string]string{
		"quotes": repeat(`"`), "single quotes": repeat(`'a `), "backticks": repeat("`x"), "open quotes": repeat("„"), "backslashes": repeat(`\`),
		"escapes": repeat(`\x1b[`), "brackets": repeat("("), "braces": repeat(`{"`), "nested": repeat(`{"error":`), "lists": repeat("[1,"), "coded": repeat("(123, '"),
		"digits": repeat("7"), "letters": repeat("x"), "equals": repeat("a=("), "slashes": repeat("/"), "marks": "a" + repeat("\u0301"), "lines": repeat("\n\tat x("),
		"cut": repeat("\n… 7 bytes left out …\n"), "colons": repeat("a:"), "dots": repeat("a."), "wide": repeat("見"), "bytes": repeat("\xff"), "bidi": repeat("\u202e"),
		"traces": repeat("Traceback (most recent call last):\n  File \"a\", line 1, in b\n"), "commas": "(" + repeat("1,"),
	}
}

func TestAFingerprintNeverFails(t *testing.T) {
	t.Parallel()
	for name, text := range hostile(1 << 20) {
		normal := siding.NormalizeError(text)
		require.True(t, utf8.ValidString(normal), name)
		require.Less(t, len(normal), 2*siding.MaxErrorText, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), values(), rapid.SampledFrom(slices.Sorted(maps.Keys(hostile(10)))), rapid.SampledFrom([]string{
			"=", "{", "}", "(", ")", "[", "]", `"`, "'", "\\", "\xff", "\x1b[1m", "/", ":", "\n", "\n\tat a(b)", "\ngoroutine 1 [running]:\n", "…", "\n… 5 bytes left out …\n",
		})))
		text := strings.Join(parts.Draw(t, "text"), "")
		require.True(t, utf8.ValidString(siding.NormalizeError(text)))
		require.Equal(t, siding.Fingerprint("x", text), siding.Fingerprint("x", siding.Scrub(text, siding.MaxErrorText)), "a stored text has the fingerprint that it had at first")
	})
}

func FuzzFingerprint(f *testing.F) {
	for _, name := range []string{"golden", "heldout"} {
		_, texts := faults(f, name)
		for _, list := range texts {
			f.Add(list[0])
		}
	}
	for _, text := range hostile(300) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal := siding.NormalizeError(text)
		if !utf8.ValidString(normal) || strings.ContainsAny(normal, "\x00\x1b\n") {
			t.Errorf("%q", normal)
		}
		if got := siding.NormalizeError(siding.Scrub(text, siding.MaxErrorText)); got != normal {
			t.Errorf("%q is %q once stored", normal, got)
		}
	})
}

// The time for each byte must not grow with the text: compare the sizes.
func BenchmarkFingerprintOfHostileText(b *testing.B) {
	for _, size := range []int{1 << 10, 8 << 10, 1 << 20, 8 << 20} {
		for name, text := range hostile(size) {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(name, " ", "-"), size), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					siding.Fingerprint(siding.CauseUnknown, text)
				}
			})
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	const text = "429 Too Many Requests rate_limit_error: This request would exceed your organization's rate limit of 50 requests per minute (org: 3f2c9a1e-77b1-4a53-9d8f-0c1d2e3f4a5b)"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		siding.Fingerprint(siding.CauseRateLimited, text)
	}
}

func TestTheManualShowsWhatTheRuleLeaves(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("docs/quarantine.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(raw), "<!-- normal forms")
	require.True(t, ok)
	table, _, ok = strings.Cut(table, "<!-- end of normal forms -->")
	require.True(t, ok)
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "`")
		if len(cells) == 5 {
			require.Equal(t, cells[3], siding.NormalizeError(cells[1]))
			rows++
		}
	}
	require.Equal(t, 7, rows)
}
