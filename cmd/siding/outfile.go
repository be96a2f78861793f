package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// outFile writes a file whole or not at all: into a temporary file beside it, synced, renamed over it, and the folder
// synced. A results file has a small sidecar, .NAME.siding, that says for which queue and inputs it was written and what
// it then held, so that another file under the same name is never replaced unasked.
type outFile struct {
	path  string
	plain bool     // not a regular file (a pipe, a device): written straight
	pipe  *os.File // a named pipe, open from the beginning on, so that its reader stays
	owner *owner
	seen  []string // contents that the sidecar knows
}

// owner is the sidecar: what a results file belongs to.
type owner struct {
	V         int      `json:"v"`
	Queue     string   `json:"queue"`
	Input     string   `json:"input"`
	Simulated bool     `json:"simulated"`
	SHA256    []string `json:"sha256"` // of the file's content, newest first
}

// keptHashes is how many contents a sidecar remembers: the one before counts too, because a process may die between the
// sidecar and the rename, and two runs of one input may end at the same time.
const keptHashes = 4

// openOut checks that path can be written, before anything else is done, and that writing replaces nothing but a file
// that this owner wrote (o nil: nothing at all), unless force. Inputs are files that must not be written over, whether they
// are there or not.
func openOut(path string, o *owner, force bool, inputs ...string) (*outFile, error) {
	for _, in := range inputs {
		if isFile(path, in) {
			return nil, usagef("--out %s is %s, which would be written over; name another file", path, in)
		}
	}
	path = followLinks(path) // the file that a link names is replaced, not the link
	f := &outFile{path: path, owner: o}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, usagef("--out %s: %w", path, err)
	case info.IsDir():
		return nil, usagef("--out %s is a folder; name a file", path)
	case !info.Mode().IsRegular():
		f.plain = true
		return f, f.openPipe(info)
	default:
		if err := f.mayReplace(info.Size(), force); err != nil {
			return nil, err
		}
	}
	f.sweep()
	probe, err := os.CreateTemp(filepath.Dir(path), f.tempPattern())
	if err != nil {
		return nil, usagef("--out %s cannot be written: %w", path, err)
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return f, nil
}

// mayReplace tells whether the file that is there may be replaced.
func (f *outFile) mayReplace(size int64, force bool) error {
	was, readErr := f.readSidecar()
	if was != nil && f.owner != nil && was.same(f.owner) {
		f.seen = was.SHA256
	}
	if force || size == 0 {
		return nil
	}
	if f.owner == nil {
		return usagef("%s is there already; --force replaces it", f.path)
	}
	why := "siding has not written it for this recipe and these inputs"
	switch {
	case readErr != nil && !errors.Is(readErr, fs.ErrNotExist):
		why = fmt.Sprintf("what it was written for cannot be read (%v)", readErr)
	case len(f.seen) > 0:
		sum, err := hashFile(f.path)
		if err != nil {
			return usagef("--out %s: %w", f.path, err)
		}
		if slices.Contains(f.seen, sum) {
			return nil
		}
		why = "it has been changed since siding wrote it"
	case was != nil:
		why = "siding has written it for another recipe or other inputs"
	}
	return usagef("--out %s would be replaced, and %s; name another file with --out, or replace it with --force", f.path, why)
}

func (o *owner) same(p *owner) bool {
	return o.Queue == p.Queue && o.Input == p.Input && o.Simulated == p.Simulated
}

// write replaces the file by what fill writes. On an error the file is as it was.
func (f *outFile) write(fill func(io.Writer) error) error {
	if f.plain {
		return f.writePlain(fill)
	}
	return f.replace(f.path, func(w io.Writer) (err error) {
		sum := sha256.New()
		if err = buffered(io.MultiWriter(w, sum), fill); err == nil && f.owner != nil {
			err = f.writeSidecar(sum)
		}
		return err
	})
}

func (f *outFile) replace(path string, fill func(io.Writer) error) (err error) {
	mode := newFileMode
	if info, statErr := os.Stat(path); statErr == nil {
		mode = info.Mode().Perm()
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, f.tempPattern())
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
			err = fmt.Errorf("writing %s: %w (the file is as it was)", path, err)
		}
	}()
	if err = fill(tmp); err != nil {
		return err
	}
	if err = errors.Join(tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// writeSidecar notes the content that is about to be there, and keeps those before it.
func (f *outFile) writeSidecar(sum hash.Hash) error {
	o := *f.owner
	o.V = 1
	o.SHA256 = []string{hex.EncodeToString(sum.Sum(nil))}
	if was, err := f.readSidecar(); err == nil && was.same(f.owner) {
		f.seen = was.SHA256
	}
	for _, s := range f.seen {
		if len(o.SHA256) < keptHashes && !slices.Contains(o.SHA256, s) {
			o.SHA256 = append(o.SHA256, s)
		}
	}
	return f.replace(f.sidecar(), func(w io.Writer) error { return writeJSON(w, o) })
}

func (f *outFile) readSidecar() (*owner, error) {
	b, err := os.ReadFile(f.sidecar())
	if err != nil {
		return nil, err
	}
	var o owner
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", f.sidecar(), err)
	}
	return &o, nil
}

func (f *outFile) sidecar() string {
	return filepath.Join(filepath.Dir(f.path), "."+filepath.Base(f.path)+".siding")
}

func buffered(w io.Writer, fill func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := fill(b); err != nil {
		return err
	}
	return b.Flush()
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
