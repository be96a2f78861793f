package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/siding-dev/siding"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Format is the version of the layout that this package writes: the number of the last migration.
const Format = 1

// layout tells what a schema holds: 0 for nothing, or the format of the store. Anything else is an error.
func (s *Store) layout(c *conn) (int64, error) {
	var has, others bool
	_, err := c.one(func(r *row) { has, others = r.bool(0), r.bool(1) }, `SELECT
		EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = ? AND c.relname = 'meta'),
		EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = ?1 AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND c.relname <> 'goose_db_version')`, s.at.schema)
	switch {
	case err != nil:
		return 0, err
	case !has && others:
		return 0, misplaced("%s: the schema %s holds tables of another program; give the store a schema of its own with ?schema=NAME",
			s.at.shown, s.at.schema)
	case !has:
		return 0, nil
	}
	format, err := c.number("SELECT format FROM meta")
	if err == nil && format == 0 {
		format = Format // its row is still to come
	}
	if format > Format {
		return 0, s.newerStore(format)
	}
	return format, err
}

func (s *Store) newerStore(format int64) error {
	return fmt.Errorf("%s: %w: its format is %d, and this version knows up to %d; update the program",
		s.at.shown, siding.ErrNewerStore, format, Format)
}

// prepare brings the layout up to date, or refuses what it finds. Of several processes that do so at once one is at
// work, and the others find it done: they wait for a lock that a transaction holds, which works behind a pooler too.
func (s *Store) prepare(ctx context.Context) error {
	var format int64
	look := func(c *conn) (err error) {
		format, err = s.layout(c)
		return err
	}
	err := s.read(ctx, look)
	if err != nil || format == Format {
		return err
	}
	if s.opts.MustExist {
		return fmt.Errorf("%s: there is no store: %w; siding run, work or send makes one", s.at.shown, os.ErrNotExist)
	}
	return s.read(ctx, func(c *conn) (err error) {
		if _, err := c.c.Exec(ctx, "BEGIN"); err != nil {
			return err
		}
		defer func() {
			_, e := c.c.Exec(context.WithoutCancel(ctx), "ROLLBACK")
			err = errors.Join(err, e)
		}()
		if _, err := c.exec("SELECT pg_advisory_xact_lock(?, ?)", s.at.class, migrateLock); err != nil {
			return err
		}
		if err := look(c); err != nil || format == Format {
			return err
		}
		return s.migrate(ctx)
	})
}

// migrate carries out the migrations that are missing, each in a transaction. The caller holds the lock.
func (s *Store) migrate(ctx context.Context) error {
	db := stdlib.OpenDB(*s.at.config.ConnConfig.Copy())
	defer db.Close() //nolint:errcheck // nothing is written by closing
	db.SetMaxOpenConns(1)
	var exists bool
	err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)", s.at.schema).Scan(&exists)
	schema := pgx.Identifier{s.at.schema}.Sanitize()
	if err == nil && !exists { // asking first, because making one needs a privilege also where there is nothing to do
		_, err = db.ExecContext(ctx, "CREATE SCHEMA "+schema)
	}
	if err != nil {
		return fmt.Errorf("make the schema %s: %w", s.at.schema, err)
	}
	text, err := migrations.ReadFile("migrations/00001_store.sql")
	if err != nil {
		return err
	}
	first := goose.NewGoMigration(1, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "SET LOCAL search_path TO "+schema+", pg_catalog; "+strings.ReplaceAll(string(text), "@schema@", schema))
		return err
	}}, nil)
	p, err := goose.NewProvider(goose.DialectPostgres, db, nil, goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(first), goose.WithTableName(s.at.schema+".goose_db_version"))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the store up to date: %w", err)
	}
	return nil
}
