package intake

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/siding-dev/siding"
)

// DefaultMaxBody is the longest record that is taken whole, in bytes: the longest request that the Claude API takes.
const DefaultMaxBody = 32 << 20

// Options say how to read an input. The zero value reads by extension, and leaves event IDs to the store.
type Options struct {
	// Format of all files; empty: by each file's extension, and JSON Lines for standard input.
	Format Format
	// Separator between CSV fields: comma, semicolon or tab; 0: tab for TSV, and for CSV the one of the three that the
	// header row has, or the comma where it has none or several. It counts for CSV alone.
	Separator byte
	// ID is the JSON Pointer to the event ID in a record (see [ParsePointer]); empty: records have none of their own.
	ID string
	// MaxBody is the longest record that is taken whole, in bytes; 0: [DefaultMaxBody]. A longer one is set aside.
	MaxBody int64
	// Stdin is what the name - reads from; nil: the process's standard input.
	Stdin io.Reader
}

// Reader reads the records of one file. It is used by one goroutine at a time.
type Reader struct {
	name    string
	src     *source
	records interface{ next() (piece, error) }
	rows    *rows // not nil for CSV
	id      Pointer
	maxBody int64
	ordinal int64
	err     error
}

// NewReader reads a file from r; name says what to call it, and tells the format where o does not. The first record gets
// the given ordinal.
func NewReader(name string, r io.Reader, ordinal int64, o Options) (*Reader, error) {
	fail := func(err error) (*Reader, error) { return nil, &Error{File: name, Err: err} }
	format := o.Format
	if format == "" {
		var err error
		if format, err = formatOf(name); err != nil {
			return fail(err)
		}
	}
	id, err := ParsePointer(o.ID)
	if err != nil {
		return nil, err
	}
	in := &Reader{name: name, src: newSource(r), id: id, maxBody: o.MaxBody, ordinal: ordinal}
	if in.maxBody <= 0 {
		in.maxBody = DefaultMaxBody
	}
	switch o.Separator {
	case 0, ',', ';', '\t':
	default:
		return nil, fmt.Errorf("the separator %q is not read; it is a comma, semicolon or tab", rune(o.Separator))
	}
	head := in.src.peek(magicBytes)
	if err := refuse(head); err != nil {
		return fail(err)
	}
	if len(head) >= 3 && string(head[:3]) == "\ufeff" {
		in.src.advance(3)
	}
	rec := gatherer{limit: in.maxBody}
	switch format {
	case JSONLines:
		if name == Stdin && o.Format == "" && bytes.HasPrefix(bytes.TrimLeft(in.src.window, " \t\r\n"), []byte("[")) {
			return fail(errors.New("it begins with [, which may be a JSON array or the first of many lines; say which with " +
				"--format json or --format jsonl"))
		}
		in.records = &lineReader{src: in.src, rec: rec}
	case JSONArray:
		in.records = &arrayReader{src: in.src, rec: rec}
	case CSV, TSV:
		separator := o.Separator
		if format == TSV {
			separator = '\t'
		}
		if in.rows, err = newRows(in.src, separator, id, in.maxBody); err != nil {
			return nil, in.placed(err)
		}
		in.records = in.rows
	default:
		return fail(fmt.Errorf("there is no input format %q", show(string(format))))
	}
	return in, nil
}

// Next gives the next record, or [io.EOF] after the last. Any other error is an [*Error], and is given again by every
// later call.
func (in *Reader) Next() (siding.NewMessage, error) {
	if in.err != nil {
		return siding.NewMessage{}, in.err
	}
	p, err := in.records.next()
	if err != nil {
		in.err = in.placed(err)
		return siding.NewMessage{}, in.err
	}
	m := siding.NewMessage{Body: p.bytes, Source: &siding.Source{
		Ordinal: in.ordinal, File: in.name, Line: p.line, Offset: p.offset, SourceHash: p.sum,
	}}
	in.ordinal++
	if !p.whole {
		m.Dead = tooLarge(p, in.maxBody, in.name)
	}
	if in.rows != nil {
		in.rows.fill(&m)
	} else {
		identify(&m, in.id)
	}
	return m, nil
}

// placed gives an error the file's name and, where it has none, the place where reading stopped.
func (in *Reader) placed(err error) error {
	var e *Error
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &e):
		e.File = in.name
		return e
	}
	return &Error{File: in.name, Line: in.src.line, Offset: in.src.offset, Err: fmt.Errorf("read: %w", err)}
}
