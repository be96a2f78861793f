package recipe

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/alert"
)

func TestAnAlertMustSayWhenAndWho(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                                                                  "alert says nobody to tell",
		`{new_group: true}`:                                                   "alert says nobody to tell",
		`{command: [notify]}`:                                                 "alert says nothing to tell of",
		`{new_group: false, command: [notify]}`:                               "", // written out, and off
		`{dead: 0, command: [notify]}`:                                        "7:15: alert.dead is 0; it must be at least 1",
		`{dead: 1, command: notify}`:                                          "7:27: alert.command must be a list",
		`{dead: 1, command: []}`:                                              "alert.command: it is empty",
		`{dead: 1, command: [""]}`:                                            "alert.command: it is empty",
		`{dead: 1, webhook: "ftp://example.com"}`:                             "7:27: alert.webhook: it is not an http or https address",
		`{dead: 1, webhook: "https://a:secret@example.com"}`:                  "7:27: alert.webhook: it has a user name or a password in it",
		`{dead: 1, webhook: "https://${HOST}/"}`:                              "7:27: alert.webhook: the host must be written out",
		`{dead: 1, webhook: "https://example.com/${}"}`:                       "7:27: alert.webhook: ",
		`{dead: 1, command: [notify], allow_private: true}`:                   "alert.allow_private means nothing without alert.webhook",
		`{dead: 1, comand: [notify]}`:                                         "7:18: there is no key comand in alert; did you mean command?",
		`{dead: 1, review_prompt: 1, webhook: "https://example.com/${HOOK}"}`: "alert.review_prompt must be true or false",
		`[dead]`: "7:8: alert must be a group of keys",
	} {
		_, err := Parse("r.yaml", []byte(small+"alert: "+text+"\n"), t.TempDir())
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "secret", text)
	}
	r, err := Parse("r.yaml", []byte(small), t.TempDir())
	require.NoError(t, err)
	require.False(t, r.AlertRules().Any())
	sinks, err := r.AlertSinks(Env{})
	require.NoError(t, err)
	require.Empty(t, sinks)
}

// sinksOf gives the sinks of a recipe with an alert group, in a folder.
func sinksOf(t *testing.T, dir, group string, env map[string]string) []alert.Sink {
	t.Helper()
	r, err := Parse("r.yaml", []byte(small+"alert: "+group+"\n"), dir)
	require.NoError(t, err)
	sinks, err := r.AlertSinks(Env{LookupEnv: func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}})
	require.NoError(t, err)
	return sinks
}

func TestAWebhookIsPostedTheNoticeAndItsSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	var body []byte
	var header http.Header
	var path, method string
	status := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		header, path, method = r.Header.Clone(), r.URL.Path, r.Method
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no such hook: "+r.URL.Path)
	}))
	defer server.Close()
	group := `{dead: 1, webhook: "` + server.URL + `/hook/${HOOK}", allow_private: true}`
	sinks := sinksOf(t, t.TempDir(), group, map[string]string{"HOOK": "s3cr3t-t0ken"})
	require.Len(t, sinks, 1)
	n := alert.Test("tag-jobs", time.UnixMicro(1_700_000_000_000_000).UTC())
	require.NoError(t, sinks[0].Send(t.Context(), n, 0))
	require.Equal(t, "POST", method)
	require.Equal(t, "/hook/s3cr3t-t0ken", path)
	require.Equal(t, "application/json", header.Get("Content-Type"))
	require.Equal(t, n.ID, header.Get("Idempotency-Key"))
	var got alert.Notice
	require.NoError(t, json.Unmarshal(body, &got))
	require.Equal(t, n, got)

	status = http.StatusInternalServerError
	err := sinks[0].Send(t.Context(), n, 0)
	require.ErrorContains(t, err, "webhook: ")
	require.ErrorContains(t, err, "500")
	require.NotContains(t, err.Error(), "s3cr3t-t0ken")

	status = http.StatusFound
	require.ErrorContains(t, sinks[0].Send(t.Context(), n, 0), "redirects")
	require.NotEqual(t, "/elsewhere", path, "a redirect is not followed")

	private := sinksOf(t, t.TempDir(), strings.Replace(group, ", allow_private: true", "", 1), map[string]string{"HOOK": "s3cr3t-t0ken"})
	require.ErrorContains(t, private[0].Send(t.Context(), n, 0), "not an address of the public internet")

	r, err := Parse("r.yaml", []byte(small+"alert: "+group+"\n"), t.TempDir())
	require.NoError(t, err)
	_, err = r.AlertSinks(Env{LookupEnv: func(string) (string, bool) { return "", false }})
	require.EqualError(t, err, "alert.webhook: the environment has no variable HOOK; set it")
}

func TestACommandIsHandedTheNoticeAndNoKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "tell.sh", "env >env.txt; cat >body.json; echo \"$#\" >args.txt\n")
	sinks := sinksOf(t, dir, `{dead: 1, command: [sh, tell.sh, "$SIDING_ALERT_TEXT"]}`, map[string]string{
		"PATH": os.Getenv("PATH"), "ANTHROPIC_API_KEY": "sk-ant-secret", "DISPLAY": ":0",
	})
	n := alert.Test("tag-jobs", time.UnixMicro(1_700_000_000_000_000).UTC())
	n.Text = "-rf $(touch owned)\nSIDING_ALERT_RULE=forged"
	require.NoError(t, sinks[0].Send(t.Context(), n, 0))
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(text)
	}
	env := read("env.txt")
	for _, want := range []string{
		"SIDING_ALERT_RULE=test\n", "SIDING_ALERT_STATE=firing\n", "SIDING_ALERT_QUEUE=tag-jobs\n", "SIDING_ALERT_TEXT=-rf $(touch owned)",
		"SIDING_ALERT_SIMULATED=false\n", "SIDING_ALERT_ID=" + n.ID + "\n", "DISPLAY=:0\n",
	} {
		require.Contains(t, env, want)
	}
	require.NotContains(t, env, "ANTHROPIC")
	require.Equal(t, "1\n", read("args.txt"), "nothing of a notice becomes an argument")
	require.NoFileExists(t, filepath.Join(dir, "owned"))
	var got alert.Notice
	require.NoError(t, json.Unmarshal([]byte(read("body.json")), &got))
	require.Equal(t, n, got)

	failing := sinksOf(t, dir, `{dead: 1, command: [sh, -c, "printf 'bad \\033[31m news' >&2; exit 3"]}`, map[string]string{"PATH": os.Getenv("PATH")})
	err := failing[0].Send(t.Context(), n, 0)
	require.ErrorContains(t, err, `command: exit status 3: bad \x1b[31m news`)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(siding.ErrShutdown)
	require.Error(t, sinks[0].Send(ctx, n, 0))
}
