package quarantine

import (
	"bytes"
	"context"
	"errors"
	"unicode/utf8"
)

// The names of the repairs that take no arguments.
const (
	nameStripUTF8     = "strip-invalid-utf8"
	nameReplaceUTF8   = "replace-invalid-utf8"
	nameStripControl  = "strip-control"
	nameFixSurrogates = "fix-surrogates"
	nameFixJSON       = "fix-json"
)

// plain is a repair of the body that takes no arguments.
type plain struct {
	name string
	mend func(d Draft) ([]byte, error) // never changes the body that it is given
}

func plainRepair(name string, mend func(d Draft) ([]byte, error)) parser {
	return func(args string) (Repair, error) {
		if args != "" {
			return nil, errors.New("it takes no arguments")
		}
		return plain{name, mend}, nil
	}
}

func (p plain) String() string { return p.name }

func (p plain) Apply(_ context.Context, d Draft) (Draft, error) {
	body, err := p.mend(d)
	if err != nil {
		return d, err
	}
	d.Body = body
	return d, nil
}

// stripInvalidUTF8 takes out every byte that is not part of valid UTF-8.
func stripInvalidUTF8(d Draft) ([]byte, error) {
	if utf8.Valid(d.Body) {
		return d.Body, nil
	}
	return bytes.ToValidUTF8(d.Body, nil), nil
}

// replaceInvalidUTF8 puts one U+FFFD in the place of each run of bytes that are not part of valid UTF-8.
func replaceInvalidUTF8(d Draft) ([]byte, error) {
	if utf8.Valid(d.Body) {
		return d.Body, nil
	}
	return bytes.ToValidUTF8(d.Body, []byte("\uFFFD")), nil
}
