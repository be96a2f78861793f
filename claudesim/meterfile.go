package claudesim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Lines of a meter file. A call that is billed has a line of its own before its first byte goes out, so that a killed
// simulator has still written what it charged.
const (
	lineBilled    = "billed"
	lineCall      = "call"
	lineRetracted = "retracted"
	lineReset     = "reset"
)

// errForeignMeter: a file begins with something else than a line of a meter.
var errForeignMeter = errors.New("this is no meter file, and nothing is appended to it; give another name")

// A meterFile is appended to, one write a line, without fsync: what a killed process has written stays.
type meterFile struct {
	file *os.File
	err  error // the first failed write
}

// openMeterFile opens or makes a meter file, and counts what it holds into m. A last line that was cut is left out. A file
// that begins with something else is somebody's, and nothing is appended to it.
func openMeterFile(path string, m *meter) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("simulator meter: %w", err)
	}
	whole, err := foldMeter(f, m)
	if err == nil && !whole {
		_, err = f.WriteString("\n")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("simulator meter %s: %w", path, err), f.Close())
	}
	m.file = &meterFile{file: f}
	return nil
}

// ReadMeter reads what a meter file holds, also while a simulator writes to it. A file that does not exist is an empty
// meter.
func ReadMeter(path string) (Meter, error) {
	m := newMeter(0, nil)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m.snapshot(), nil
	}
	if err != nil {
		return Meter{}, fmt.Errorf("simulator meter: %w", err)
	}
	defer f.Close()
	if _, err := foldMeter(f, m); err != nil {
		return Meter{}, fmt.Errorf("simulator meter %s: %w", path, err)
	}
	return m.snapshot(), nil
}

// foldMeter counts lines; whole says that the last one is not cut. It gives errForeignMeter for what is no meter file.
func foldMeter(r io.Reader, m *meter) (whole bool, err error) {
	in := bufio.NewReader(r)
	charged := map[int64]bool{}
	whole = true
	for lines := 0; ; lines++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			whole = bytes.HasSuffix(line, []byte("\n"))
			var c Call
			if lines == 0 && !startsMeter(line) {
				return whole, errForeignMeter
			}
			if json.Unmarshal(line, &c) == nil {
				m.fold(&c, charged)
			}
		}
		if err == io.EOF {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
	}
}

// startsMeter tells whether a file's first line is one of a meter, or a part of one: the disk may have been full.
func startsMeter(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte("\n"))
	for _, kind := range []string{lineBilled, lineCall, lineRetracted, lineReset} {
		start := []byte(`{"type":"` + kind + `"`)
		if bytes.HasPrefix(line, start) || bytes.HasPrefix(start, line) {
			return true
		}
	}
	return false
}

// fold counts one line. A billed call has two lines; charged says which have had the first.
func (m *meter) fold(c *Call, charged map[int64]bool) {
	kind := c.Type
	c.Type = lineCall
	switch kind {
	case lineReset:
		clear(m.rows)
		clear(m.faults)
		clear(charged)
	case lineBilled:
		charged[c.N] = true
		m.row(c).Calls++
		m.charge(c)
	case lineCall:
		if c.Path == pathMessages && !charged[c.N] {
			m.row(c).Calls++
			if c.Billed {
				m.charge(c)
			}
		}
		delete(charged, c.N)
		m.settle(c, c.Time.Add(c.Took))
	case lineRetracted:
		if r := m.row(c); r.Acceptable > 0 {
			if r.Acceptable--; r.Acceptable == 0 {
				r.answeredAt = time.Time{}
			}
		}
	}
	m.n = max(m.n, c.N)
	if c.Path == pathMessages {
		r := m.row(c)
		r.ordinal = max(r.ordinal, c.Ordinal)
	}
}

// append writes a line. A failed write is kept for Close: a bill that could not be written down must not pass unseen.
func (f *meterFile) append(c Call, kind string) {
	if f == nil {
		return
	}
	c.Type = kind
	if _, err := f.file.Write(append(encode(c), '\n')); err != nil && f.err == nil {
		f.err = fmt.Errorf("simulator meter: %w", err)
	}
}

func (f *meterFile) close() error {
	if f == nil {
		return nil
	}
	return errors.Join(f.err, f.file.Close())
}
