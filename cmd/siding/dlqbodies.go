package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/siding-dev/siding"
)

// bodyFolder is a folder into which bodies are written, each in a file of its own. Their names are made of what comes
// from outside, so that nothing is written outside of the folder, through a link, or over a file that is there.
type bodyFolder struct{ root *os.Root }

func openBodyFolder(path string) (*bodyFolder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, usagef("--bodies: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, usagef("--bodies: %w", err)
	}
	return &bodyFolder{root}, nil
}

// Close closes the folder.
func (f *bodyFolder) Close() error { return f.root.Close() }

// bodyName gives the name of the file with a message's body: readable, safe, and of no other message.
func bodyName(m siding.Message) string {
	sum := sha256.Sum256([]byte(m.Queue + "\x00" + m.ID))
	return safeName(m.ID) + "-" + hex.EncodeToString(sum[:6]) + extension(m.ContentType)
}

// write writes a body and gives the name of its file. What could not be written whole is not left.
func (f *bodyFolder) write(m siding.Message) (name string, err error) {
	name = bodyName(m)
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(m.Body)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", name, err), f.root.Remove(name))
	}
	return name, nil
}

// diskFull tells whether a write failed for want of room: the next one would too.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
