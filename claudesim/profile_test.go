package claudesim_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

func TestMistakesInAProfileNameTheirPlace(t *testing.T) {
	for _, c := range []struct {
		name, yaml   string
		line, column int
		says         string
	}{
		{"unknown setting", "seed: 1\nspeed: 2\n", 2, 1, "speed"},
		{"unknown setting inside", "faults:\n  - when: {txt: a}\n    do: {fault: cut, at: after}\n", 2, 12, "txt"},
		{"not YAML", "faults: [\n", 1, 9, ""},
		{"wrong type", "seed: many\n", 1, 7, ""},
		{"version", "version: 2\n", 1, 10, "version 2"},
		{"rate", "limits:\n  requests: 5/day\n", 2, 13, "is no rate"},
		{"span", "faults:\n  - when: {calls: 5-3}\n    do: {fault: refuse}\n", 2, 19, "is no span"},
		{"fault", "faults:\n  - do: {fault: explode}\n", 2, 17, `"explode" is no fault`},
		{"no fault", "faults:\n  - name: x\n", 2, 9, "is no fault"},
		{"error id", "faults:\n  - do: {fault: error, id: nope}\n", 2, 28, "no error is called"},
		{"idle setting", "faults:\n  - do: {fault: refuse, at: after}\n", 2, 29, "has no effect on refuse"},
		{"pattern", "faults:\n  - when: {pattern: '('}\n    do: {fault: refuse}\n", 2, 21, "missing"},
		{"share", "faults:\n  - when: {share: 1.5}\n    do: {fault: refuse}\n", 2, 19, "between 0 and 1"},
		{"window", "faults:\n  - when: {from: 5s, until: 4s}\n    do: {fault: refuse}\n", 2, 29, "end after it begins"},
		{"cut", "faults:\n  - do: {fault: cut, at: noon}\n", 2, 26, "before, inside or after"},
		{"two of a name", "faults:\n  - {name: a, do: {fault: refuse}}\n  - {name: a, do: {fault: refuse}}\n", 3, 12, "already"},
		{"extends", "extends: nothing\n", 1, 10, "no built-in profile"},
		{"model", "models:\n  - {id: x}\n", 2, 5, "needs"},
		{"abandoned", "abandoned: maybe\n", 1, 12, "billed or unbilled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := claudesim.ParseProfile([]byte(c.yaml))
			var pe *claudesim.ProfileError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, []int{c.line, c.column}, []int{pe.Line, pe.Column}, err.Error())
			require.Contains(t, err.Error(), c.says)
		})
	}
}

func TestEveryBuiltInProfileIsValid(t *testing.T) {
	require.Subset(t, claudesim.ProfileNames(), []string{"brownout", "clean", "outage", "ratelimited", "rough"})
	for _, name := range claudesim.ProfileNames() {
		p, err := claudesim.BuiltinProfile(name)
		require.NoError(t, err, name)
		s, err := claudesim.New(p, claudesim.Options{})
		require.NoError(t, err, name)
		require.NoError(t, s.Close())
	}
	_, err := claudesim.BuiltinProfile("perfect")
	require.ErrorContains(t, err, "rough")
}

func TestProfilesAreLoadedByNameOrFromAFile(t *testing.T) {
	p, err := claudesim.LoadProfile("rough")
	require.NoError(t, err)
	require.NotEmpty(t, p.Faults)
	file := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(file, []byte("extends: rough\nlatency: {fixed: 1s}\nfaults: [{name: mine, do: {fault: empty}}]\n"), 0o600))
	p, err = claudesim.LoadProfile(file)
	require.NoError(t, err)
	s, err := claudesim.New(p, claudesim.Options{})
	require.NoError(t, err)
	full := s.Profile()
	require.Equal(t, "mine", full.Faults[0].Name)
	require.Equal(t, "rate-limited", full.Faults[1].Name)
	require.Equal(t, time.Second, full.Latency.Fixed)
	require.Equal(t, uint64(7), full.Seed)
	_, err = claudesim.LoadProfile("./none.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAnEmptyProfileIsAServiceWithoutFaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "version: 1\n"} {
		_, err := claudesim.ParseProfile([]byte(text))
		require.NoError(t, err, "%q", text)
	}
}

// The manual names every fault, every setting of a rule, every error and every built-in profile.
func TestTheManualNamesEverything(t *testing.T) {
	data, err := os.ReadFile("../docs/simulator.md")
	require.NoError(t, err)
	manual := string(data)
	words := append(claudesim.ErrorNames(), claudesim.ProfileNames()...)
	words = append(words, strings.Fields(`error html refuse cut stall slow broken-json error-body stream-error stream-cut stop empty off-schema prose enum-case long
path text pattern model key header stream share attempts calls every times from until since
id status type message code headers retry_after regain at for then after_events reason category partial tokens billed
version extends seed keys models latency limits abandoned schemas faults fixed jitter per_output_token requests input_tokens output_tokens concurrency image_bytes
`)...)
	for _, w := range words {
		found := regexp.MustCompile("`[^`\n]*\\b" + regexp.QuoteMeta(w) + "\\b").MatchString(manual)
		require.True(t, found, "the manual does not say %s", w) // the whole page in a message would hide the word
	}
}

func TestProfileErrorsWithoutAFileNameTheSetting(t *testing.T) {
	err := (&claudesim.Profile{Abandoned: "x"}).Validate()
	var pe *claudesim.ProfileError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, "abandoned", pe.Path)
	require.Equal(t, "simulator profile: abandoned: must be billed or unbilled", err.Error())
}
