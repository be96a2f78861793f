package quarantine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
)

// checkMedia looks at images: those that fields of the recipe name as files, and those that stand in the body as base64.
func checkMedia(_ context.Context, e *exam) ([]Finding, int) {
	if !e.json || e.mended == nil {
		return nil, 0
	}
	files, n := e.files()
	embedded, m := e.embedded()
	return append(files, embedded...), n + m
}

// files looks at the image files that the record names.
func (e *exam) files() (list []Finding, n int) {
	if len(e.f.Images) == 0 {
		return nil, 0
	}
	root, err := os.OpenRoot(e.f.ImageRoot)
	if err != nil {
		return []Finding{{Code: "no-image-root", Text: "the folder of the images cannot be opened: " + plainError(err)}}, 1
	}
	defer root.Close() //nolint:errcheck // nothing was written
	for _, at := range e.f.Images {
		for _, each := range e.fileNames(at) {
			code, text := examineFile(root, each.name)
			if code == "" {
				continue
			}
			if n++; len(list) < MaxFindings {
				list = append(list, e.placed(Finding{
					Code: code, Pointer: new(each.pointer), Text: fmt.Sprintf("the image %q: %s", shorten(each.name), text), Fault: true,
				}, each.pointer))
			}
		}
	}
	return list, n
}

// namedFile is a file name in the body and its place.
type namedFile struct{ pointer, name string }

// mostFiles bounds how many files are looked at.
const mostFiles = 200

func (e *exam) fileNames(at string) (list []namedFile) {
	p, err := parsePointer(at)
	if err != nil {
		return nil
	}
	s, err := find(e.mended, p)
	if err != nil || len(s.members) == 0 {
		return nil
	}
	m := s.members[len(s.members)-1]
	var v any
	if json.Unmarshal(e.mended[m.value:m.end], &v) != nil {
		return nil
	}
	switch v := v.(type) {
	case string:
		return []namedFile{{at, v}}
	case []any:
		for i, each := range v {
			if name, ok := each.(string); ok && i < mostFiles {
				list = append(list, namedFile{fmt.Sprintf("%s/%d", at, i), name})
			}
		}
	}
	return list
}

// examineFile looks at a file inside root; os.Root keeps names and links from leading outside.
func examineFile(root *os.Root, name string) (code, text string) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "no-file", "this is not the name of a file"
	}
	// What is not a plain file is not opened: opening a pipe would wait for its other end.
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no-file", "there is no such file under the image root"
	case err != nil:
		return "no-file", "it cannot be opened under the image root: " + plainError(err)
	case !info.Mode().IsRegular():
		return "no-file", "this is not a file"
	case info.Size() > claude.MaxImageBase64/4*3:
		return "media-too-large", fmt.Sprintf("it has %d bytes, and an image may have %d", info.Size(), claude.MaxImageBase64/4*3)
	}
	f, err := root.Open(name)
	if err != nil {
		return "no-file", "it cannot be opened under the image root: " + plainError(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, claude.MaxImageBase64))
	if err != nil {
		return "no-file", "it cannot be read: " + plainError(err)
	}
	return examineMedia(data, "").problem() // its name says nothing: the content decides
}

// plainError gives an error without the path, which may be no one's business.
func plainError(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return shorten(err.Error())
}

// leastEncoded is how long a text must be, in characters, to be taken for base64 that nobody has called so.
const leastEncoded = 512

// typeNames are the names under which the type of the data beside it stands.
var typeNames = []string{"media_type", "mime_type", "mimeType", "mediaType", "content_type"}

// declaredData is an object that has a type and data.
type declaredData struct {
	typeAt, declared string
	data             *token
	dataAt           *string
}

// embedded looks at images that stand in the body: data URLs, base64 with its type beside it, and long base64 that begins
// as an image does.
func (e *exam) embedded() (list []Finding, n int) {
	var open []declaredData
	add := func(f Finding) {
		if f.Code == "" {
			return
		}
		f.Fault = e.cause == siding.CauseInvalidMedia || e.cause == siding.CauseInvalidRequest
		if n++; len(list) < MaxFindings {
			list = append(list, f)
		}
	}
	walk(e.mended, func(s *scanner, t token) bool {
		switch t.kind {
		case kindObject, kindArray:
			open = append(open, declaredData{})
		case kindClose:
			if d := open[len(open)-1]; d.data != nil {
				add(e.embeddedIn(d.dataAt, unquote(e.mended[d.data.from:d.data.to]), d.declared, d.typeAt))
			}
			open = open[:len(open)-1]
		case kindString:
			inner := e.mended[t.from+1 : t.to-1]
			switch {
			case len(inner) < 5: // neither an image nor the name of its type
			case strings.HasPrefix(string(clip(inner, 16)), "data:"):
				declared, data, ok := dataURL(unquote(e.mended[t.from:t.to]))
				if ok {
					add(e.embeddedIn(s.pointer(), data, declared, ""))
				}
			case len(open) > 0 && !s.top().array && slices.Contains(typeNames, keyOf(s)):
				if at := s.pointer(); at != nil && len(inner) < 100 {
					d := &open[len(open)-1]
					d.declared, d.typeAt = unquote(e.mended[t.from:t.to]), *at
				}
			case len(open) > 0 && !s.top().array && (keyOf(s) == "data" || keyOf(s) == "base64"):
				d := &open[len(open)-1]
				d.data, d.dataAt = &token{t.kind, t.from, t.to}, s.pointer()
			case len(inner) >= leastEncoded && beginsImage(string(inner[:32])):
				add(e.embeddedIn(s.pointer(), unquote(e.mended[t.from:t.to]), "", ""))
			}
		}
		return true
	})
	return list, n
}

// keyOf gives the name of the value that was begun last, in an object.
func keyOf(s *scanner) string {
	key := s.top().key
	if key[1]-key[0] > 64 {
		return ""
	}
	return unquote(s.b[key[0]:key[1]])
}

// beginsImage tells base64 that begins as an image or a PDF does.
func beginsImage(text string) bool {
	for _, begin := range []string{"/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR", "JVBERi0"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// dataURL takes a data URL with base64 apart.
func dataURL(text string) (declared, data string, ok bool) {
	head, data, ok := strings.Cut(strings.TrimPrefix(text, "data:"), ",")
	if !ok || !strings.HasSuffix(head, ";base64") {
		return "", "", false
	}
	declared, _, _ = strings.Cut(head, ";")
	return declared, data, true
}

// embeddedIn looks at base64 in the body. typeAt is the place of the field that says its type; empty: the data URL does.
func (e *exam) embeddedIn(at *string, text, declared, typeAt string) Finding {
	switch known := strings.HasPrefix(declared, "image/") || declared == "application/pdf"; {
	case declared != "" && !known, declared == "" && !beginsImage(text):
		return Finding{}
	}
	data, err := decodeBase64(text)
	f := Finding{Pointer: at}
	if err != nil {
		f.Code, f.Text = "damaged-base64", err.Error()
		if errors.Is(err, errSpaced) && at != nil {
			f.Code, f.Repairs = "spaced-base64", []string{nameJQ + ":" + e.jqPath(*at) + ` |= gsub("\\s"; "")`}
		}
	} else {
		m := examineMedia(data, declared)
		f.Code, f.Text = m.problem()
		if f.Code == "type-mismatch" && at != nil {
			f.Repairs = []string{nameJQ + ":" + e.jqPath(*at) + ` |= sub("^data:[^;,]*"; "data:` + m.kind + `")`}
			if typeAt != "" {
				f.Repairs = []string{nameSet + ":" + arguments{{"field", typeAt}, {"value", m.kind}}.String()}
			}
		}
	}
	if f.Code != "" && at != nil {
		f = e.placed(f, *at)
	}
	return f
}

// jqPath writes a JSON Pointer into the body as a path of jq.
func (e *exam) jqPath(at string) string {
	p, err := parsePointer(at)
	if err != nil || p.whole() {
		return "."
	}
	path, way := []string{"."}, []byte(nil)
	for i, name := range p.names {
		way = appendName(way, name)
		step := quoteJSON(name)
		if _, ok := arrayIndex(name); ok { // or a name that looks like one
			if s, err := find(e.mended, pointer{string(way), p.names[:i+1]}); err == nil && s.parent.array {
				step = name
			}
		}
		path = append(path, "["+step+"]")
	}
	return strings.Join(path, "")
}
