package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// campaigns lists the campaigns of the program's store, the latest first.
func (p *program) campaigns(t *testing.T) []map[string]any {
	t.Helper()
	return objects(t, p.ok(t, "campaign", "list", "--json"))
}

func (p *program) deadOnes(t *testing.T, n int) {
	t.Helper()
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	p.dead(t, "q", "refused", bodies...)
}

func (p *program) ready(t *testing.T) (n int) {
	t.Helper()
	for _, state := range p.states(t, "q") {
		if state == "ready" {
			n++
		}
	}
	return n
}

func TestCampaignOfRedrive(t *testing.T) {
	t.Parallel()
	t.Run("sends the canary, says what comes next, and stands in the store", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 30)
		p.ok(t, "redrive", "--cause", "refused", "--canary", "4", "--ramp", "10,20", "--min-success", "0.75")
		said := p.stderr.String()
		require.Contains(t, said, "campaign 1 has 30 messages")
		require.Contains(t, said, "4 first, then 10, then 20")
		require.Contains(t, said, "4 messages sent; the next stage follows when 75 % of the 4 sent are done")
		require.Contains(t, said, "siding campaign show 1 --follow")
		require.Equal(t, 4, p.ready(t))

		c := p.campaigns(t)[0]
		require.Equal(t, "campaign", c["type"])
		for name, want := range map[string]int{"id": 1, "selected": 30, "pending": 26, "sent": 4, "canary": 4, "stage": 0, "stage_sent": 4} {
			require.InDelta(t, want, c[name], 0, name)
		}
		require.Equal(t, "running", c["state"])
		require.Equal(t, []any{"refused"}, c["selection"].(map[string]any)["causes"])
		require.NotEmpty(t, c["by"])
		require.Contains(t, p.ok(t, "campaign"), "running")
		require.Contains(t, p.ok(t, "campaign", "show", "1"), "the canary: 4 sent, 0 done")

		members := objects(t, p.ok(t, "campaign", "members", "1", "--status", "sent", "--json"))
		require.Len(t, members, 4)
		require.Equal(t, []any{"campaign_member", "q", "d0", "sent"}, []any{members[0]["type"], members[0]["queue"], members[0]["id"], members[0]["status"]})
		require.Len(t, strings.Split(strings.TrimSpace(p.ok(t, "campaign", "members", "1")), "\n"), 31)
		require.Contains(t, p.ok(t, "audit"), "campaign 1 made")
	})
	t.Run("without a canary sends all at once", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 12)
		p.ok(t, "redrive", "--all", "--min-success", "0.5")
		require.Equal(t, 12, p.ready(t))
	})
	t.Run("at a rate sends a second's worth at once", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 30)
		p.ok(t, "redrive", "--all", "--rate", "5/s", "--json")
		require.InDelta(t, 5, p.ready(t), 1)
		require.InDelta(t, 5, objects(t, p.stdout.String())[0]["rate"], 0)
	})
	t.Run("sends nothing on a dry run, and makes none", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 5)
		p.ok(t, "redrive", "--all", "--canary", "2", "--dry-run")
		require.Contains(t, p.stderr.String(), "as a campaign: 2 first, then 20")
		require.Empty(t, p.campaigns(t))
		require.Zero(t, p.ready(t))
	})
	t.Run("of nothing makes none", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 2)
		p.ok(t, "redrive", "--cause", "timeout", "--canary", "2")
		require.Contains(t, p.stderr.String(), "nothing matches: no campaign was made")
		require.Empty(t, p.campaigns(t))
	})
	t.Run("is chosen by an expression too", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 20)
		p.ok(t, "redrive", "--where", ".body.n >= 15", "--canary", "2")
		require.InDelta(t, 5, p.campaigns(t)[0]["selected"], 0)
		require.Equal(t, "ready", p.states(t, "q")["d15"])
	})
	t.Run("mends, and what stays is told", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "invalid-utf8", "\"a\xff\"", `"fine"`, "not json \xff")
		p.ok(t, "redrive", "--all", "--canary", "10", "--repair", "strip-invalid-utf8")
		c := p.campaigns(t)[0]
		for name, want := range map[string]int{"sent": 1, "unchanged": 1, "invalid": 1, "pending": 0} {
			require.InDelta(t, want, c[name], 0, name)
		}
		require.Contains(t, p.ok(t, "campaign", "members", "1", "--status", "invalid"), "not valid JSON")
	})
	t.Run("takes only what no other campaign has, and says so", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 5)
		p.ok(t, "redrive", "--id", "d0", "--id", "d1", "--rate", "1/h")
		p.ok(t, "redrive", "--all", "--rate", "1/h")
		require.Contains(t, p.stderr.String(), "1 message left out: members of campaign 1, which is not over")
		require.InDelta(t, 3, p.campaigns(t)[0]["selected"], 0)
	})
	t.Run("is paused, resumed and aborted, with a reason", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 5)
		p.ok(t, "redrive", "--all", "--canary", "1")
		p.ok(t, "campaign", "pause", "1", "--note", "lunch")
		require.Equal(t, []any{"paused", "lunch"}, []any{p.campaigns(t)[0]["state"], p.campaigns(t)[0]["why"]})
		code, _ := p.run(t, "", "campaign", "pause", "1")
		require.Equal(t, exitError, code)
		require.Contains(t, p.stderr.String(), "campaign 1: pause the campaign: not possible in this state: it is paused")
		code, _ = p.run(t, "", "campaign", "show", "1", "--follow")
		require.Equal(t, exitHeld, code)
		require.Contains(t, p.stderr.String(), "siding campaign resume 1")
		p.ok(t, "campaign", "resume", "1")
		require.Contains(t, p.stderr.String(), "the next stage follows when 90 % of the 1 sent are done")
		p.ok(t, "campaign", "abort", "1", "--note", "wrong")
		require.Equal(t, "aborted", p.campaigns(t)[0]["state"])
		require.Equal(t, 1, p.ready(t), "what was sent stays sent")
		p.ok(t, "redrive", "--all", "--canary", "1")
		require.InDelta(t, 4, p.campaigns(t)[0]["selected"], 0, "what was not sent is free")
	})
	t.Run("or is wrong usage", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.deadOnes(t, 2)
		for _, args := range [][]string{
			{"redrive", "--canary", "2"},
			{"redrive", "--all", "--cause", "refused", "--canary", "2"},
			{"redrive", "--all", "--canary", "-1"},
			{"redrive", "--all", "--ramp", "10"},
			{"redrive", "--all", "--canary", "1", "--ramp", "0"},
			{"redrive", "--all", "--canary", "1", "--min-success", "1.5"},
			{"redrive", "--all", "--rate", "fast"},
			{"redrive", "--all", "--wait"},
			{"redrive", "--all", "--canary", "1", "--repair", "no-such-repair"},
			{"campaign", "show", "first"},
			{"campaign", "list", "--state", "odd"},
			{"campaign", "members", "1", "--status", "odd"},
			{"campaign", "nothing"},
		} {
			code, _ := p.run(t, "", args...)
			require.Equal(t, exitUsage, code, "%v: %s", args, p.stderr.String())
		}
		code, _ := p.run(t, "", "campaign", "show", "7")
		require.Equal(t, exitError, code)
		require.Contains(t, p.stderr.String(), `no campaign 7; "siding campaign" lists them`)
		require.Empty(t, p.campaigns(t))
		require.Zero(t, p.ready(t))
	})
}
