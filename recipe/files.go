package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"unicode/utf8"
)

// maxSchema is the longest schema file, in bytes.
const maxSchema = 1 << 20

// required is a text that must be there. In place of a missing one it gives a text that nothing is wrong with.
func (d *document) required(path, do string) string {
	if d.missing(path) {
		d.failKey(path, "%s is missing; %s", path, do)
	}
	return d.text(path, "missing")
}

// path is a file's name, from the recipe's folder.
func (d *document) path(path, dir string) string {
	name := d.text(path, "")
	switch {
	case name == "" && d.has(path):
		d.failKey(path, "%s is empty; give the name of a file, or take the key out", path)
		return ""
	case name == "" || filepath.IsAbs(name):
		return name
	}
	return filepath.Join(dir, name)
}

// schema reads a schema's file. What is no JSON is a fault of that file, at its place there.
func (d *document) schema(path, dir string) []byte {
	name := d.path(path, dir)
	if name == "" {
		return nil
	}
	text, err := readFile(name, maxSchema+1)
	switch {
	case err != nil:
		d.failKey(path, "%s: %s: %w", path, show(name), err)
		return nil
	case len(text) > maxSchema:
		d.failKey(path, "%s: %s has more than %d bytes", path, show(name), maxSchema)
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var broken *json.SyntaxError
	var value any
	if err := json.Unmarshal(text, &value); errors.As(err, &broken) {
		before := text[:min(max(broken.Offset-1, 0), int64(len(text)))]
		d.errs = append(d.errs, &Error{
			File: name, Err: fmt.Errorf("it is not valid JSON: %w", broken), Line: bytes.Count(before, []byte("\n")) + 1,
			Column: utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1,
		})
		return nil
	}
	return text
}
