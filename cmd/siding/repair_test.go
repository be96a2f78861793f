package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
)

func (p *program) body(t *testing.T, id string) string {
	t.Helper()
	body, ok := objects(t, p.ok(t, "show", id, "--json"))[0]["body"].(string)
	require.True(t, ok)
	return body
}

func TestRedriveWithRepairs(t *testing.T) {
	t.Parallel()
	t.Run("shows on a dry run what would change, and changes nothing", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "invalid-utf8", "{\"a\":\"x\xffy\"}", `{"a":"well"}`, "\xff{")
		out := p.ok(t, "redrive", "--all", "--repair", "strip-invalid-utf8", "--dry-run")
		require.Contains(t, out, "d0 in queue q: changed")
		require.Contains(t, out, `\xff`)
		require.Contains(t, out, "d1 in queue q: unchanged")
		require.Contains(t, out, "d2 in queue q: invalid: ")
		require.Contains(t, p.stderr.String(), "1 message would be mended and sent back; 1 unchanged and 1 invalid, which stay set aside")
		require.Contains(t, p.stderr.String(), "what that would cost is not known")
		require.Equal(t, map[string]string{"d0": "dead", "d1": "dead", "d2": "dead"}, p.states(t, "q"))
		require.Empty(t, p.ok(t, "audit"))

		lines := objects(t, p.ok(t, "redrive", "--all", "--repair", "strip-invalid-utf8", "--dry-run", "--json"))
		require.Len(t, lines, 4)
		require.Equal(t, "preview", lines[0]["type"])
		require.Equal(t, "changed", lines[0]["verdict"])
		require.NotEmpty(t, lines[0]["changes"])
		require.Equal(t, []any{}, lines[1]["changes"])
		last := lines[3]
		for key, want := range map[string]float64{"matched": 3, "changed": 0, "would_change": 1, "unchanged": 1, "invalid": 1} {
			require.InDelta(t, want, last[key], 0, key)
		}
		require.Nil(t, last["estimate"])
		require.Len(t, objects(t, p.ok(t, "redrive", "--all", "--repair", "strip-invalid-utf8", "--dry-run", "--json", "--limit", "1")), 2)
	})
	t.Run("sends back what is mended, keeps the rest, and says so with the exit code", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "invalid-utf8", "{\"a\":\"x\xffy\"}", `{"a":"well"}`, "\xff{")
		code, _ := p.run(t, "", "redrive", "--queue", "q", "--repair", "strip-invalid-utf8", "--as", "ann")
		require.Equal(t, exitSetAside, code)
		require.Contains(t, p.stderr.String(), "1 message sent back")
		require.NotContains(t, p.stderr.String(), "d0")
		require.Contains(t, p.stderr.String(), "d2 in queue q: invalid")
		require.Equal(t, map[string]string{"d0": "ready", "d1": "dead", "d2": "dead"}, p.states(t, "q"))
		require.Equal(t, `{"a":"xy"}`, p.body(t, "d0"))
		shown := p.ok(t, "show", "d0")
		require.Contains(t, shown, "repaired by ann: strip-invalid-utf8; the body before had 11 bytes")
		require.Contains(t, shown, "received from in.jsonl, line 1")

		entries := objects(t, p.ok(t, "audit", "--json"))
		require.Len(t, entries, 1)
		require.Equal(t, "repair", entries[0]["action"])
		require.Equal(t, "ann", entries[0]["by"])
		require.InDelta(t, 1, entries[0]["count"], 0)
		require.Equal(t, "siding redrive --queue q --repair strip-invalid-utf8", entries[0]["text"])
		p.ok(t, "redrive", "--id", "d0", "--repair", "strip-invalid-utf8")
		p.ok(t, "doctor")
	})
	t.Run("joins with --where, and keeps the letters of two queues apart", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "one", "invalid-utf8", "{\"a\":\"\xff1\"}", "{\"a\":\"\xff2\"}")
		p.dead(t, "two", "invalid-utf8", "{\"a\":\"\xff3\"}", "{\"a\":\"\xff4\"}")
		p.ok(t, "redrive", "--where", `.id == "d1" or .queue == "two"`, "--repair", "strip-invalid-utf8")
		require.Equal(t, map[string]string{"d0": "dead", "d1": "ready"}, p.states(t, "one"))
		require.Equal(t, map[string]string{"d0": "ready", "d1": "ready"}, p.states(t, "two"))
		for args, want := range map[string]string{"one": `{"a":"2"}`, "two": `{"a":"4"}`} {
			require.Equal(t, want, objects(t, p.ok(t, "show", "d1", "--queue", args, "--json"))[0]["body"])
		}
	})
	t.Run("of thousands sends each mended by its own", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		bodies := make([]string, 2*operateBatch+7)
		for i := range bodies {
			bodies[i] = fmt.Sprintf("{\"n\":\"\xff%d\"}", i)
		}
		p.dead(t, "q", "invalid-utf8", bodies...)
		p.ok(t, "redrive", "--all", "--repair", "strip-invalid-utf8")
		require.Contains(t, p.stderr.String(), fmt.Sprintf("%d messages sent back", len(bodies)))
		for _, i := range []int{0, 499, 500, 501, 1006} {
			require.Equal(t, fmt.Sprintf(`{"n":"%d"}`, i), p.body(t, fmt.Sprintf("d%d", i)))
		}
		entries := objects(t, p.ok(t, "audit", "--json"))
		require.Len(t, entries, 1, "one command is one entry")
		require.InDelta(t, len(bodies), entries[0]["count"], 0)
	})
	t.Run("that are wrong is wrong usage", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.dead(t, "q", "refused", "1")
		for _, args := range [][]string{
			{"--all", "--repair", "no-such"}, {"--all", "--repair", "truncate"}, {"--repair", "fix-json"}, {"--all", "--limit", "3"},
			{"--all", "--recipe", "r.yaml"}, {"--all", "--repair", "fix-json", "--limit", "-1"}, {"--all", "--repair", "fix-json", "--recipe", "none.yaml"},
		} {
			code, _ := p.run(t, "", append([]string{"redrive"}, args...)...)
			require.Equal(t, exitUsage, code, "%v: %s", args, p.stderr.String())
		}
		require.Equal(t, "dead", p.states(t, "q")["d0"])
	})
}

func TestEditingALetter(t *testing.T) {
	t.Parallel()
	editing := func(t *testing.T, editor string) *program {
		t.Helper()
		p := newProgram(t)
		p.env = append(p.env, "EDITOR="+editor, "TMPDIR="+p.dir)
		p.dead(t, "q", "invalid-utf8", "{\"a\":\"x\xffy\"}", `{"a":"well"}`)
		return p
	}
	t.Run("in an editor sends it back with what was written", func(t *testing.T) {
		t.Parallel()
		p := editing(t, `printf '{"a":"mended"}\n' >`)
		out := p.ok(t, "dlq", "edit", "d0")
		require.Contains(t, out, "+ ")
		require.Equal(t, "ready", p.states(t, "q")["d0"])
		require.Equal(t, `{"a":"mended"}`, p.body(t, "d0"), "the newline that the editor has added is not the body's")
		require.Contains(t, p.ok(t, "show", "d0"), "edited by hand")
		require.Contains(t, p.ok(t, "audit"), "siding dlq edit d0")
	})
	t.Run("that does not change it, or not to anything valid, does nothing", func(t *testing.T) {
		t.Parallel()
		p := editing(t, "true")
		code, _ := p.run(t, "", "dlq", "edit", "d0")
		require.Equal(t, exitError, code)
		require.Contains(t, p.stderr.String(), "nothing was changed")
		for _, args := range [][]string{{"--stdin"}, {"--file", "@new"}, {"--stdin", "--json"}} {
			require.NoError(t, os.WriteFile(p.file("new"), []byte("{broken"), 0o600))
			code, out := p.run(t, "{broken", append([]string{"dlq", "edit", "d0"}, args...)...)
			require.Equal(t, exitError, code, out)
			require.Contains(t, p.stderr.String(), "it would not be valid")
		}
		for editor, says := range map[string]string{
			"exit 7;": "exit status 7", "rm": "no such file", `pipe() { rm "$1"; mkfifo "$1"; }; pipe`: "is no file any more",
			`endless() { rm "$1"; ln -s /dev/zero "$1"; }; endless`: "is no file any more",
			"head -c 40000000 /dev/zero >":                          "longer than a body may be",
		} {
			p = editing(t, editor)
			code, _ = p.run(t, "", "dlq", "edit", "d0")
			require.Equal(t, exitError, code, editor)
			require.Contains(t, p.stderr.String(), says)
			require.Contains(t, p.stderr.String(), "nothing was done")
		}
		require.Equal(t, "dead", p.states(t, "q")["d0"])
		code, _ = p.run(t, "", "dlq", "edit", "nope")
		require.Equal(t, exitError, code)
		code, _ = p.run(t, "", "dlq", "edit", "d0", "--file", "@none")
		require.Equal(t, exitUsage, code)
	})
	t.Run("takes a body from a file or standard input, and headers", func(t *testing.T) {
		t.Parallel()
		p := editing(t, "false")
		code, _ := p.run(t, `{"b":1}`, "dlq", "edit", "d0", "--stdin", "--dry-run")
		require.Equal(t, exitDone, code)
		require.Equal(t, "dead", p.states(t, "q")["d0"])
		code, out := p.run(t, `{"b":1}`, "dlq", "edit", "d0", "--stdin", "--json")
		require.Equal(t, exitDone, code, p.stderr.String())
		require.Equal(t, true, objects(t, out)[0]["sent"])
		require.Equal(t, `{"b":1}`, p.body(t, "d0"))
		p.ok(t, "dlq", "edit", "d1", "--set-header", "x-customer=abcde", "--set-header", "siding-max-tokens=9")
		shown := objects(t, p.ok(t, "show", "d1", "--json"))[0]
		require.Equal(t, map[string]any{"x-customer": "abcde", "siding-max-tokens": "9"}, shown["headers"])
		require.Equal(t, `{"a":"well"}`, shown["body"])
		require.NotContains(t, p.ok(t, "audit", "--json"), "abcde")
	})
	t.Run("that is sent back by somebody else meanwhile does nothing", func(t *testing.T) {
		t.Parallel()
		p := editing(t, "")
		store, err := sqlite.Open(t.Context(), p.file("siding.db"))
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		// The editor is the moment in which somebody else is quicker.
		p.env = append(p.env, "EDITOR="+binary+" redrive --id d0 --store "+p.file("siding.db")+"; echo '{}' >")
		code, _ := p.run(t, "", "dlq", "edit", "d0")
		require.Equal(t, exitError, code)
		require.Contains(t, p.stderr.String(), "meanwhile")
		require.Equal(t, "{\"a\":\"x\xffy\"}", bodyOf(t, store, "d0"))
	})
	t.Run("leaves no file behind, however it ends", func(t *testing.T) {
		t.Parallel()
		p := editing(t, "cat >&2; touch \"$1~\"; chmod 0 \"$1\"; false")
		_, _ = p.run(t, "", "dlq", "edit", "d0")
		left, err := filepath.Glob(p.file("siding-edit-*"))
		require.NoError(t, err)
		require.Empty(t, left)
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
			cmd := exec.CommandContext(t.Context(), binary, "dlq", "edit", "d0")
			cmd.Env = append(slices.Clone(p.env), "EDITOR=stat -c %a >"+p.file("mode")+" \"$1\"; cp \"$1\" "+p.file("seen")+"; exec sleep 60;", "PATH="+os.Getenv("PATH"))
			require.NoError(t, os.RemoveAll(p.file("seen")))
			require.NoError(t, cmd.Start())
			eventually(t, "the editor has the body", func() bool {
				b, err := os.ReadFile(p.file("seen"))
				return err == nil && len(b) > 0
			})
			require.NoError(t, cmd.Process.Signal(signal))
			_ = cmd.Wait()
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), "%v", signal)
			left, err := filepath.Glob(p.file("siding-edit-*"))
			require.NoError(t, err)
			require.Empty(t, left, "%v", signal)
			require.Equal(t, "600\n", content(t, p.file("mode")))
		}
		require.Equal(t, "dead", p.states(t, "q")["d0"])
	})
}

func bodyOf(t *testing.T, store siding.Operator, id string) string {
	t.Helper()
	r, err := store.Get(t.Context(), "q", id)
	require.NoError(t, err)
	return string(r.Body)
}

func TestBodiesAreExportedExactly(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.dead(t, "q", "invalid-utf8", "\xff\x00\n", "=1", "")
	p.dead(t, "../up", "refused", "other")
	lines := objects(t, p.ok(t, "dlq", "export", "--bodies", "@bodies"))
	require.Len(t, lines, 4)
	seen := map[string]bool{}
	for i, want := range []string{"\xff\x00\n", "=1", "", "other"} {
		name, ok := lines[i]["body_file"].(string)
		require.True(t, ok)
		require.Equal(t, name, filepath.Base(name))
		require.Equal(t, want, content(t, p.file("bodies/"+name)))
		require.Nil(t, lines[i]["body"])
		require.False(t, seen[name], "two messages with one ID have two files")
		seen[name] = true
		info, err := os.Stat(p.file("bodies/" + name))
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
	// Nothing is written over what is there, nor through a link.
	name, _ := lines[0]["body_file"].(string)
	require.NoError(t, os.WriteFile(p.file("precious"), []byte("keep"), 0o600))
	require.NoError(t, os.Remove(p.file("bodies/"+name)))
	require.NoError(t, os.Symlink(p.file("precious"), p.file("bodies/"+name)))
	code, _ := p.run(t, "", "dlq", "export", "--bodies", "@bodies")
	require.Equal(t, exitError, code)
	require.Contains(t, p.stderr.String(), "4 bodies could not be written")
	require.Equal(t, "keep", content(t, p.file("precious")))
}

func TestFileNamesOfBodiesAreSafe(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../../etc/passwd", "a/b", "con", ".hidden", "é世界", strings.Repeat("x", 512), "-rf", "a b\\c:d*?"} {
		name := bodyName(siding.Message{Queue: "q", ID: id})
		require.Regexp(t, `^[A-Za-z0-9_-]{1,60}-[0-9a-f]{12}\.json$`, name, id)
	}
	require.NotEqual(t, bodyName(siding.Message{Queue: "q", ID: "a/b"}), bodyName(siding.Message{Queue: "q", ID: "a_b"}))
}
