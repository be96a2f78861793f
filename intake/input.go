package intake

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync/atomic"

	"github.com/siding-dev/siding"
)

// Input is several files read as one: their records have continuing ordinals. It is used by one goroutine at a time,
// but for Progress.
type Input struct {
	names   []string
	options Options
	file    io.Closer
	reader  *Reader
	ordinal int64
	read    atomic.Int64
	total   int64
	err     error
}

// Open makes ready to read the files of these names, in this order; [Stdin] stands for standard input. Every name is
// looked at before the first is read, so that what is plainly wrong with the last does not show after hours.
func Open(names []string, o Options) (*Input, error) {
	if len(names) == 0 {
		return nil, errors.New("no input is named")
	}
	if _, err := ParsePointer(o.ID); err != nil {
		return nil, err
	}
	in := &Input{names: names, options: o}
	stdin := 0
	for _, name := range names {
		if o.Format == "" {
			if _, err := formatOf(name); err != nil {
				return nil, &Error{File: name, Err: err}
			}
		}
		if name == Stdin {
			if stdin++; stdin > 1 {
				return nil, errors.New("standard input is named twice, and can be read once")
			}
			in.total = -1
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, &Error{File: name, Err: plain(err)}
		case info.IsDir():
			return nil, &Error{File: name, Err: errors.New("it is a directory; name the files in it")}
		case !info.Mode().IsRegular():
			in.total = -1
		case in.total >= 0:
			in.total += info.Size()
		}
	}
	return in, nil
}

// Next gives the next record of the input, or [io.EOF] after the last. Any other error says where reading stopped, and
// is given again by every later call; everything before it has been given.
func (in *Input) Next() (siding.NewMessage, error) {
	for in.err == nil {
		if in.reader == nil {
			if in.err = in.open(); in.err != nil {
				break
			}
		}
		m, err := in.reader.Next()
		if err == nil {
			in.ordinal++
			return m, nil
		}
		in.reader = nil
		in.err = in.closeFile()
		if !errors.Is(err, io.EOF) {
			in.err = err
		}
	}
	return siding.NewMessage{}, in.err
}

// All walks over the records. The last pair holds the error that ended the reading, unless that is the end of the input.
func (in *Input) All() iter.Seq2[siding.NewMessage, error] {
	return func(yield func(siding.NewMessage, error) bool) {
		for {
			m, err := in.Next()
			if errors.Is(err, io.EOF) || !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// Progress gives how many bytes have been read and how many there are, or -1 where nobody knows. It may be called at any
// time, from any goroutine.
func (in *Input) Progress() (read, total int64) { return in.read.Load(), in.total }

// Close frees the file that is open.
func (in *Input) Close() error {
	if in.err == nil {
		in.err = errors.New("the input has been closed")
	}
	return in.closeFile()
}

func (in *Input) closeFile() error {
	if in.file == nil {
		return nil
	}
	err := in.file.Close()
	in.file = nil
	return err
}

// open begins the next file, or gives io.EOF.
func (in *Input) open() error {
	if len(in.names) == 0 {
		return io.EOF
	}
	name := in.names[0]
	in.names = in.names[1:]
	var r io.Reader = os.Stdin
	switch {
	case name != Stdin:
		f, err := os.Open(name)
		if err != nil {
			return &Error{File: name, Err: plain(err)}
		}
		in.file, r = f, f
	case in.options.Stdin != nil:
		r = in.options.Stdin
	}
	var err error
	if in.reader, err = NewReader(name, &counted{r: r, n: &in.read}, in.ordinal, in.options); err != nil {
		in.reader = nil
		_ = in.closeFile() // it was only read
	}
	return err
}

// plain gives a file's error without the name, which the text around it has.
func plain(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	return err
}

type counted struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
