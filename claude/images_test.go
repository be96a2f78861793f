package claude

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func pixel(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, png.Encode(&buf, image.NewGray(image.Rect(0, 0, 1, 1))))
	return buf.Bytes()
}

func imageHandler(t *testing.T, root string) *Handler {
	t.Helper()
	c := config(nil, nil)
	c.Images = Images{Fields: []string{"/path", "/more/files"}, Root: root}
	return newHandler(t, c)
}

func TestImagesGoBeforeTheTextInTheOrderOfTheFields(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "sub", "a.txt"), pixel(t), 0o600), "the content decides, not the name")
	require.NoError(t, os.WriteFile(filepath.Join(root, "b.gif"), []byte("GIF89a and more"), 0o600))
	h := imageHandler(t, root)
	p, f := h.prepare([]byte(`{"title":"t","path":"sub/a.txt","more":{"files":["b.gif","sub/../b.gif"]}}`))
	require.Nil(t, f)
	var w struct {
		Messages []struct{ Content []wireBlock }
	}
	require.NoError(t, json.Unmarshal(h.build(p, 10).body, &w))
	blocks := w.Messages[0].Content
	require.Len(t, blocks, 4)
	require.Equal(t, wireSource{Type: "base64", MediaType: "image/png", Data: base64.StdEncoding.EncodeToString(pixel(t))}, *blocks[0].Source)
	require.Equal(t, "image/gif", blocks[1].Source.MediaType)
	require.Equal(t, "Title: t", blocks[3].Text)

	p, f = h.prepare([]byte(`{"title":"t","path":null}`))
	require.Nil(t, f, "no image is no fault")
	require.Empty(t, p.images)
}

func TestImagesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.png"), pixel(t), 0o600))
	root := filepath.Join(outside, "root")
	require.NoError(t, os.Mkdir(root, 0o700))
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), data, 0o600))
	}
	write("text.png", []byte("this is not an image"))
	write("empty.png", nil)
	write("huge.png", append(pixel(t), make([]byte, MaxImageBase64)...))
	require.NoError(t, os.Symlink("../secret.png", filepath.Join(root, "link.png")))
	require.NoError(t, os.Symlink("loop.png", filepath.Join(root, "loop.png")))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "dirlink")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe.png"), 0o600))
	h := imageHandler(t, root)
	for name, want := range map[string]string{
		`"gone.png"`: "no such file", `"../secret.png"`: "cannot be opened under the image root", `"link.png"`: "cannot be opened under the image root",
		`"dirlink/secret.png"`: "cannot be opened under the image root", `"` + outside + `/secret.png"`: "cannot be opened under the image root",
		`"text.png"`: "by its content it is text/plain", `"empty.png"`: "by its content", `"huge.png"`: "larger than", `"pipe.png"`: "not a file",
		`"."`: "not a file", `""`: "not the name", `"a\u0000b"`: "not the name", `"loop.png"`: "image root", `"text.png/x"`: "image root",
		`7`: "a number", `{"a":1}`: "an object", `[1]`: "/path/0", `[null]`: "null",
	} {
		_, f := h.prepare([]byte(`{"title":"t","path":` + name + `}`))
		require.NotNil(t, f, name)
		require.Equal(t, siding.CauseInvalidMedia, f.Cause, f.Error())
		require.Equal(t, siding.OutcomePermanent, f.Outcome, name)
		require.True(t, f.NoCall)
		require.Contains(t, f.Error(), want, name)
	}
}

func TestTheRootOfTheImagesGoneIsNotTheRecordsFault(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "images")
	require.NoError(t, os.Mkdir(root, 0o700))
	h := imageHandler(t, root)
	require.NoError(t, os.Remove(root))
	_, f := h.prepare([]byte(`{"title":"t","path":"a.png"}`))
	require.NotNil(t, f)
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Equal(t, siding.ScopeRecipe, f.Scope)
}
