package intake

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// Error is a fault that makes the rest of an input unreadable, with its place. What stands before it has been read.
type Error struct {
	File   string // as the user named it; "-" is standard input
	Line   int64  // from 1; 0: the fault is the file's as a whole
	Offset int64  // byte offset in the file, from 0; counts only with a Line
	Err    error  // what is wrong, and what to do
}

// Error writes file, line, byte and the fault. A hostile file name cannot act on a terminal.
func (e *Error) Error() string {
	name := showName(e.File)
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", name, e.Err)
	}
	return fmt.Sprintf("%s: line %d, byte %d: %v", name, e.Line, e.Offset, e.Err)
}

// Unwrap gives the fault without its place.
func (e *Error) Unwrap() error { return e.Err }

// Locate gives line and column of a byte offset in a text, both from 1, the column in characters (a byte that is no
// UTF-8 counts as one). An offset outside the text is moved to its nearest end.
func Locate(text []byte, offset int64) (line, column int64) {
	before := text[:min(max(offset, 0), int64(len(text)))]
	line = int64(bytes.Count(before, []byte{'\n'})) + 1
	return line, int64(utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])) + 1
}

// showName makes a file name fit for one line of text.
func showName(name string) string {
	if name == Stdin {
		return "standard input"
	}
	return show(name)
}

// show makes text from a file fit for one line of an error.
func show(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(siding.Scrub(text, 200))
}

// showByte names one byte of a file.
func showByte(c byte) string {
	if c > ' ' && c < 0x7f {
		return string(rune(c))
	}
	return fmt.Sprintf("byte 0x%02x", c)
}
