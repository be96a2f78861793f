package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/siding-dev/siding"
	sqlitedriver "modernc.org/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Format is the version of the layout that this package writes: the number of the last migration.
const Format = 1

// applicationID marks the file as a store in its header; migration 1 sets it.
const applicationID = 0x53444e47

// layout tells what a file holds: 0 for an empty database, or the format of the store. Anything else is an error.
func layout(c *conn, path string) (int, error) {
	tables, err := c.number("SELECT count(*) FROM sqlite_master")
	if err != nil {
		return 0, explain(path, err)
	}
	app, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, explain(path, err)
	}
	format, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, explain(path, err)
	}
	switch {
	case app != applicationID && tables > 0:
		// goose makes its own table before the first migration: a process may have died between the two.
		only, err := c.number("SELECT count(*) FROM sqlite_master WHERE tbl_name NOT IN ('goose_db_version', 'sqlite_sequence')")
		if err != nil || only > 0 {
			return 0, misplaced("%s is a SQLite database of another program, not a store; give another path", path)
		}
		return 0, nil
	case app != applicationID:
		return 0, nil
	case format > Format:
		return 0, newerStore(path, format)
	}
	return int(format), nil
}

func newerStore(path string, format int64) error {
	return fmt.Errorf("%s: %w: its format is %d, and this version knows up to %d; update the program",
		path, siding.ErrNewerStore, format, Format)
}

// migrate brings the layout up to date. The caller holds the setup lock.
func migrate(ctx context.Context, path, dsn string) error {
	connector, err := sqlitedriver.NewConnector(dsn)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close() //nolint:errcheck // nothing is written by closing
	db.SetMaxOpenConns(1)
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring %s up to date: %w", path, explain(path, err))
	}
	return nil
}
