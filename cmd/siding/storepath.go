package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/siding-dev/siding"
)

// The names of files that are made unless others are given.
const (
	defaultStore     = "siding.db"
	defaultSimStore  = "siding-sim.db"
	defaultResults   = "results.jsonl"
	defaultSimResult = "results-sim.jsonl"
)

// isDatabase tells the address of a database from a path.
func isDatabase(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// storePath gives the path (or the sqlite: or postgres: URL) of the store that is meant: --store, else SIDING_STORE, else the default in dir (empty: here).
func (a *app) storePath(dir string, simulated bool) (string, error) {
	name := defaultStore
	if simulated {
		name = defaultSimStore
	}
	url, from := a.storeURL, "--store"
	if url == "" {
		url, from = a.env["SIDING_STORE"], "SIDING_STORE"
	}
	if url == "" {
		return filepath.Join(dir, name), nil
	}
	scheme, rest, hasScheme := strings.Cut(url, ":")
	switch {
	case hasScheme && scheme == "sqlite":
		if strings.Trim(rest, "/") == "" {
			return "", usagef("%s %q names no file", from, siding.Scrub(url, 200))
		}
	case isDatabase(url):
	case strings.Contains(url, "://"):
		// The rest of the address may hold a password, and is not repeated.
		return "", usagef("%s: this version has no store for %s:// addresses; give a path, sqlite:PATH or postgres://...", from,
			siding.Scrub(scheme, 64))
	}
	return url, nil
}

// resolve reads the selection flags by the store's clock.
func (a *app) resolve(ctx context.Context, store siding.Store, sf *selectFlags) (*selection, error) {
	now, err := store.Now(ctx)
	if err != nil {
		return nil, err
	}
	return sf.resolve(now)
}

// storeFlag gives the words of a command line that name the store at path: none where the default is meant.
func (a *app) storeFlag(path string) string {
	if isDatabase(path) { // without its password, which is to come from the environment or a password file
		if a.storeURL == "" {
			return ""
		}
		return " --store " + shellQuote(path)
	}
	if env := a.env["SIDING_STORE"]; env != "" || !sameFile(path, defaultStore) {
		if p, err := a.storePath("", false); a.storeURL == "" && err == nil && sameFile(p, path) {
			return ""
		}
		return " --store " + shellQuote(path)
	}
	return ""
}

func sameFile(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}

// shellQuote writes a word so that a POSIX shell reads it as it is.
func shellQuote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
