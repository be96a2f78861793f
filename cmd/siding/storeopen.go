package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/postgres"
	"github.com/siding-dev/siding/sqlite"
)

// openReading opens the store for looking only.
func (a *app) openReading(ctx context.Context) (siding.Store, string, error) {
	return a.openStore(ctx, "", false, sqlite.Options{ReadOnly: true})
}

// openWriting opens a store that exists.
func (a *app) openWriting(ctx context.Context) (siding.Store, string, error) {
	return a.openStore(ctx, "", false, sqlite.Options{MustExist: true})
}

// openCreating opens the store, or makes it, with the default in dir. It is simulated or it is not.
func (a *app) openCreating(ctx context.Context, dir string, simulated bool) (siding.Store, string, error) {
	o := sqlite.Options{Mode: sqlite.Real}
	if simulated {
		o.Mode = sqlite.Simulated
	}
	return a.openStore(ctx, dir, simulated, o)
}

func (a *app) openStore(ctx context.Context, dir string, simulated bool, o sqlite.Options) (siding.Store, string, error) {
	path, err := a.storePath(dir, simulated)
	if err != nil {
		return nil, "", err
	}
	if isDatabase(path) {
		return openDatabase(ctx, path, o)
	}
	store, err := sqlite.Open(ctx, path, o)
	if errors.Is(err, fs.ErrNotExist) && path == defaultStore {
		if _, e := os.Stat(defaultSimStore); e == nil {
			return nil, path, usagef("there is no %s in this folder, but there is %s of a simulated run; give --store %[2]s", defaultStore, defaultSimStore)
		}
	}
	if err != nil {
		return nil, path, openError(err)
	}
	return store, path, nil
}

// openDatabase opens a store in PostgreSQL, as o says. The address that it gives has no password.
func openDatabase(ctx context.Context, address string, o sqlite.Options) (siding.Store, string, error) {
	store, err := postgres.Open(ctx, address, postgres.Options{MustExist: o.MustExist, ReadOnly: o.ReadOnly, Mode: postgres.Mode(o.Mode)})
	if err != nil {
		return nil, "", openError(err)
	}
	info, err := store.Info(ctx)
	if err != nil {
		return nil, "", storeError(errors.Join(err, store.Close()))
	}
	return store, info.URL, nil
}

// openError is storeError for the opening of a store, where a path that can hold none is a wrong name.
func openError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sqlite.ErrPlace) || errors.Is(err, postgres.ErrPlace) {
		return usagef("%w (--store or SIDING_STORE names it)", err)
	}
	return storeError(err)
}

// storeFiles gives the files of a store, those that SQLite may make beside it included; none for a database.
func storeFiles(info siding.StoreInfo) []string {
	path, ok := strings.CutPrefix(info.URL, "sqlite:")
	if !ok {
		return nil
	}
	return []string{path, path + "-wal", path + "-shm", path + "-lock", path + "-journal"}
}

// closing closes a store when a command ends. What was asked for is durable by then, so that an error changes nothing.
func closing(c io.Closer) { _ = c.Close() }
