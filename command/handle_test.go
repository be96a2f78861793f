//go:build unix

package command

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestWhatAProgramWritesIsTheResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, want string }{
		{"JSON stays as it is, without white space", `printf '{"b": 1,\n "a": [2]}\n'`, `{"b":1,"a":[2]}`},
		{"text becomes a JSON string", `printf 'two\nlines\n'`, `"two\nlines"`},
		{"nothing is no result", `printf '  \n'`, ``},
		{"bytes that are no text are replaced", `printf 'a\377\000b'`, "\"a\ufffd\\u0000b\""},
		{"two values of JSON are a text", `printf '1\n2\n'`, `"1\n2"`},
		{"a JSON string with bytes that are no text is one", `printf '"\377"'`, "\"\\\"\ufffd\\\"\""},
		{"the body comes on standard input", `cat`, `{"id":"7"}`},
		{"standard error does not matter then", `echo noise >&2; echo 1`, `1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, done(t, shell(c.script), `{"id": "7"}`))
		})
	}
}

func TestExitStatusesMeanWhatSysexitsSays(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]verdict{
		"1":   {siding.OutcomeTransient, siding.CauseHandlerError, "", ""},
		"2":   {siding.OutcomeTransient, siding.CauseHandlerError, "", ""},
		"64":  {siding.OutcomeTransient, siding.CauseHandlerError, "", ""},
		"65":  {siding.OutcomePermanent, siding.CauseHandlerError, "", "EX_DATAERR"},
		"75":  {siding.OutcomeTransient, siding.CauseHandlerError, "", "EX_TEMPFAIL"},
		"77":  {siding.OutcomeHeld, siding.CauseCredentials, siding.ScopeLane, "EX_NOPERM"},
		"78":  {siding.OutcomeHeld, siding.CauseConfiguration, siding.ScopeRecipe, "EX_CONFIG"},
		"126": {siding.OutcomeHeld, siding.CauseConfiguration, siding.ScopeRecipe, "a program that cannot be run"},
		"127": {siding.OutcomeHeld, siding.CauseConfiguration, siding.ScopeRecipe, "a program that was not found"},
		"137": {siding.OutcomeTransient, siding.CauseHandlerError, "", ""},
		"255": {siding.OutcomeTransient, siding.CauseHandlerError, "", ""},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			f := fails(t, player("exit:"+code), `{}`)
			require.Equal(t, want, verdict{f.Outcome, f.Cause, f.Scope, want.name})
			require.Contains(t, f.Error(), "exit status "+code)
			require.Contains(t, f.Error(), want.name)
			require.True(t, strings.HasSuffix(f.Error(), ": what went wrong"), f.Error())
			require.False(t, f.NoCall)
			require.Equal(t, want.scope == siding.ScopeLane, f.Lane != "")
		})
	}
}

// Every exit status but the few that are named is transient, and what the configuration says comes first.
func TestAnyExitStatusHasAMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.IntRange(1, 255).Draw(t, "code")
		permanent := rapid.SliceOf(rapid.IntRange(1, 255)).Draw(t, "permanent")
		gray := rapid.SliceOf(rapid.IntRange(1, 255)).Draw(t, "gray")
		h, err := New(Config{Argv: []string{"x"}, Permanent: permanent, Gray: gray})
		if err != nil {
			require.ErrorContains(t, err, "it can mean only one of them")
			return
		}
		v := h.judge(code)
		in := func(list []int) bool { return slices.Contains(list, code) }
		named := map[int]siding.Outcome{65: "permanent", 75: "transient", 77: "held", 78: "held", 126: "held", 127: "held"}
		switch {
		case in(permanent):
			require.Equal(t, siding.OutcomePermanent, v.outcome)
		case in(gray):
			require.Equal(t, siding.OutcomeGray, v.outcome)
		case named[code] != "":
			require.Equal(t, named[code], v.outcome)
		default:
			require.Equal(t, siding.OutcomeTransient, v.outcome)
		}
		require.Equal(t, v.outcome == siding.OutcomeHeld, v.scope != "")
		require.NotEmpty(t, v.cause)
	})
}

func TestASignalIsTransientAndNamed(t *testing.T) {
	t.Parallel()
	for n, name := range map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM", syscall.SIGSEGV: "SIGSEGV"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fails(t, shell("ulimit -c 0; kill -"+strconv.Itoa(int(n))+" $$"), `{}`)
			require.Equal(t, siding.OutcomeTransient, f.Outcome)
			require.Equal(t, siding.CauseHandlerError, f.Cause, "and no crash of the worker")
			require.Contains(t, f.Error(), "killed by "+name)
		})
	}
}

func TestAProgramThatCannotBeStartedHoldsTheRecipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	lost := filepath.Join(dir, "lost")
	require.NoError(t, os.WriteFile(lost, []byte("#!/no/such/interpreter\n"), 0o700))
	for name, c := range map[string]Config{
		"not in PATH":             {Argv: []string{"no-such-program-anywhere"}},
		"no such file":            {Argv: []string{"./no-such-file"}, Dir: dir},
		"not executable":          {Argv: []string{plain}},
		"no such interpreter":     {Argv: []string{lost}},
		"a directory":             {Argv: []string{dir}},
		"no such working folder":  {Argv: []string{"sh", "-c", "true"}, Dir: filepath.Join(dir, "gone")},
		"a shell that finds none": {Argv: []string{"sh", "-c", "no-such-program-anywhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, f := handle(t, c, `{}`)
			require.Equal(t, siding.OutcomeHeld, f.Outcome)
			require.Equal(t, siding.ScopeRecipe, f.Scope)
			require.Equal(t, siding.CauseConfiguration, f.Cause)
			require.False(t, res.NoCall, "or no gate would hear of it")
		})
	}
}

func TestAShortageOfTheMachineIsNotTheMessagesFault(t *testing.T) {
	t.Parallel()
	f := newHandler(t, shell("true")).conclude(run{err: &os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: syscall.EAGAIN}})
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Equal(t, siding.CauseOverloaded, f.Cause)
	require.Equal(t, "command/sh", f.Lane)
	require.Positive(t, f.RetryAfter)
}

func TestABrokenRecordRunsNothing(t *testing.T) {
	t.Parallel()
	c := Config{Argv: []string{"no-such-program-anywhere"}, InputSchema: []byte(`{"type":"object","required":["id"]}`), JSON: true}
	for body, want := range map[string]siding.Cause{
		"{\"id\": \"\xff\"}":  siding.CauseInvalidUTF8,
		`{"id": `:             siding.CauseInvalidJSON,
		``:                    siding.CauseInvalidJSON,
		`{"no": 1}`:           siding.CauseSchemaViolation,
		`{"id": 1e999999999}`: siding.CauseSchemaViolation,
	} {
		d := delivery(body)
		d.ContentType = "text/csv"
		res, err := newHandler(t, c).Handle(t.Context(), d)
		f := siding.FailureOf(err)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.Equal(t, want, f.Cause)
		require.True(t, res.NoCall)
		require.True(t, f.NoCall)
	}
	f := fails(t, c, "{\"id\": \"\xff\"}")
	require.EqualValues(t, 8, *f.FaultOffset)

	d := delivery("no \xff JSON")
	d.ContentType = "application/octet-stream"
	res, err := newHandler(t, shell("wc -c")).Handle(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "9", string(res.Body))
}

func TestAResultMustFitTheSchema(t *testing.T) {
	t.Parallel()
	c := shell(`cat`)
	c.OutputSchema = []byte(`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`)
	require.Equal(t, `{"n":1}`, done(t, c, `{"n": 1}`))
	for _, body := range []string{`{"n": "x"}`, `{}`, `3`} {
		f := fails(t, c, body)
		require.Equal(t, siding.OutcomePermanent, f.Outcome)
		require.Equal(t, siding.CauseSchemaMismatch, f.Cause)
		require.False(t, f.NoCall)
	}
	for _, script := range []string{`true`, `echo hello`} {
		c.Argv[2] = script
		require.Equal(t, siding.CauseSchemaMismatch, fails(t, c, `{}`).Cause)
	}
}

func TestTheEnvironmentIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"PATH": os.Getenv("PATH"), "SECRET": "s3cret-value", "ANTHROPIC_API_KEY": "sk", "HOME": "/h"}
	c := shell(`env | grep -v -e '^_=' -e '^PWD=' -e '^SHLVL=' -e '^OLDPWD=' -e '^PATH=' | sort`)
	c.Env = []string{"SECRET", "MODE=fast=yes"}
	c.LookupEnv = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	require.Equal(t, `"HOME=/h\nMODE=fast=yes\nSECRET=s3cret-value\nSIDING_ATTEMPT=2\nSIDING_EVENT_ID=evt-1\nSIDING_QUEUE=q"`, done(t, c, `{}`))

	c.Argv[2] = `echo "$SECRET" >&2; exit 1`
	f := fails(t, c, `{}`)
	require.NotContains(t, f.Error(), "s3cret")
	require.Contains(t, f.Error(), "[SECRET]")
}

func TestTheWorkingDirectoryIsWherePathsBegin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\ncat name\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "name"), []byte("it is me"), 0o600))
	require.Equal(t, `"it is me"`, done(t, Config{Argv: []string{"./here"}, Dir: dir}, `{}`))
}

func TestAProgramThatDoesNotReadIsFine(t *testing.T) {
	t.Parallel()
	body := `"` + strings.Repeat("x", 4<<20) + `"`
	require.Equal(t, `"enough"`, done(t, shell(`exec 0<&-; printf '"enough"'`), body))
	require.Equal(t, `"\"xxxxxxxxxxxxxxx"`, done(t, player("half"), body))
}

func TestHostileStandardErrorIsHarmless(t *testing.T) {
	t.Parallel()
	f := fails(t, player("hostile"), `{}`)
	require.Equal(t, siding.OutcomePermanent, f.Outcome)
	for _, bad := range []string{"\x1b", "\x00", "\x07", "\u202e", "\xff"} {
		require.NotContains(t, f.Error(), bad)
	}
	require.Contains(t, f.Error(), "owned", "how it began")
	require.True(t, strings.HasSuffix(f.Error(), "the end"), "and how it ended")
	require.LessOrEqual(t, len(f.Error()), siding.MaxErrorText)
	require.LessOrEqual(t, len(f.Stored().Text), siding.MaxErrorText)
}

func TestAFloodIsStopped(t *testing.T) {
	t.Parallel()
	c := player("flood")
	c.MaxOutput = 100_000
	f := fails(t, c, `{}`)
	require.Equal(t, siding.OutcomePermanent, f.Outcome)
	require.Equal(t, siding.CauseBadResponse, f.Cause)
	require.Contains(t, f.Error(), "more than 100000 bytes")

	c = shell(`head -c 100001 /dev/zero`)
	c.MaxOutput = 100_000
	require.Equal(t, siding.CauseBadResponse, fails(t, c, `{}`).Cause, "also when it ends by itself before it is stopped")
	c.Argv[2] = `head -c 100000 /dev/zero`
	_, f = handle(t, c, `{}`)
	require.Nil(t, f)
}

func TestTheBoundedTextsKeepWhatTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 6000)).Draw(t, "chunks")
		var all []byte
		var e tail
		overs := 0
		r := result{limit: 5000, over: func() { overs++ }}
		for _, c := range chunks {
			all = append(all, c...)
			n, err := e.Write(c)
			require.NoError(t, err)
			require.Equal(t, len(c), n)
			n, err = r.Write(c)
			require.NoError(t, err)
			require.Equal(t, len(c), n)
			require.LessOrEqual(t, len(e.head)+len(e.end), headKept+tailKept)
		}
		require.EqualValues(t, len(all), len(e.head)+len(e.end)+int(e.dropped))
		require.Equal(t, string(all[:len(e.head)]), string(e.head))
		require.Equal(t, string(all[len(all)-len(e.end):]), string(e.end))
		require.Equal(t, string(all[:min(len(all), 5000)]), string(r.text))
		require.Equal(t, len(all) > 5000, r.more)
		require.Equal(t, len(all) > 5000, overs == 1)
	})
}

func TestTheTimeoutEndsTheWholeFamily(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	// The program ignores SIGTERM, and so do its child and its grandchild, which hold on to standard output.
	c := shell(`trap '' TERM; echo $$ >>"$0"; sh -c 'echo $$ >>"$0"; sh -c "echo \$\$ >>\"\$0\"; exec sleep 600" "$0" & wait' "$0" & wait`)
	c.Argv = append(c.Argv, file)
	c.Timeout = 3 * time.Second
	f := fails(t, c, `{}`)
	require.Equal(t, siding.OutcomeTransient, f.Outcome)
	require.Equal(t, siding.CauseTimeout, f.Cause)
	requireGone(t, file, 3)
}

func TestTheEndOfTheContextEndsTheWholeFamily(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		want  siding.Cause
	}{
		"the worker stops":  {siding.ErrShutdown, siding.CauseShutdown},
		"the lease is lost": {siding.ErrLeaseLost, siding.CauseLeaseLost},
		"it is cancelled":   {context.Canceled, siding.CauseShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			conf := shell(`"$0" & wait`)
			conf.Argv = append(conf.Argv, os.Args[0])
			conf.Env = []string{"PLAY=stubborn:" + file}
			ctx, cancel := context.WithCancelCause(t.Context())
			h := newHandler(t, conf)
			ended := make(chan error)
			go func() {
				_, err := h.Handle(ctx, delivery(`{}`))
				ended <- err
			}()
			require.Eventually(t, func() bool { return len(pids(file)) == 1 }, 20*time.Second, 5*time.Millisecond)
			cancel(c.cause)
			f := siding.FailureOf(<-ended)
			require.Equal(t, siding.OutcomeInterrupted, f.Outcome)
			require.Equal(t, c.want, f.Cause)
			requireGone(t, file, 1)
		})
	}
}

func TestAContextThatHasEndedRunsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(siding.ErrShutdown)
	_, err := newHandler(t, shell("true")).Handle(ctx, delivery(`{}`))
	require.Equal(t, siding.OutcomeInterrupted, siding.FailureOf(err).Outcome)
}

// A child that is left in the background and holds on to standard output does not keep the handler, nor stay.
func TestAChildThatIsLeftBehindKeepsNobody(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	c := shell(`"$0" & while ! [ -s "$1" ]; do sleep 0.01; done; echo 7`)
	c.Argv = append(c.Argv, os.Args[0], file)
	c.Env = []string{"PLAY=stubborn:" + file}
	require.Equal(t, "7", done(t, c, `{}`))
	requireGone(t, file, 1)
}

func TestManyRunAtOnce(t *testing.T) {
	t.Parallel()
	h := newHandler(t, shell("cat"))
	results := make(chan string)
	for i := range 16 {
		go func() {
			res, err := h.Handle(t.Context(), delivery(strconv.Itoa(i)))
			if err != nil {
				results <- err.Error()
				return
			}
			results <- string(res.Body)
		}()
	}
	seen := map[string]bool{}
	for range 16 {
		seen[<-results] = true
	}
	for i := range 16 {
		require.True(t, seen[strconv.Itoa(i)], i)
	}
}

func pids(file string) []int {
	text, _ := os.ReadFile(file)
	var list []int
	for word := range strings.FieldsSeq(string(text)) {
		n, _ := strconv.Atoi(word)
		list = append(list, n)
	}
	return list
}

// requireGone waits until the processes are dead: they were killed, and die as soon as the system comes to it.
func requireGone(t *testing.T, file string, n int) {
	t.Helper()
	list := pids(file)
	require.Len(t, list, n, "they must have begun")
	for _, pid := range list {
		require.Eventually(t, func() bool { return !alive(pid) }, 20*time.Second, 5*time.Millisecond, "process %d lives", pid)
	}
}

// alive tells whether a process runs. One that nobody has waited for yet does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestSettingsForModelsAreNotHandedOn(t *testing.T) {
	t.Parallel()
	d := delivery("{}")
	d.Headers = map[string]string{siding.HeaderModel: "a-model", siding.HeaderMaxTokens: "777", siding.HeaderInstruction: "be brief"}
	res, err := newHandler(t, shell("env | grep -ci -e a-model -e tokens -e brief -e instruction || true")).Handle(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "0", string(res.Body))
}
