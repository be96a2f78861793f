package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/siding-dev/siding"
)

// ErrUnavailable: the database could not be reached, or gave up the work on its side, for longer than the store tries
// again by itself. Nothing has changed, unless the error says otherwise; ask again.
var ErrUnavailable = errors.New("the database cannot be reached")

// ErrUncertain: the connection was lost while the database was committing, so that it is not known whether the write has
// been done. Ask again: every write is guarded, and a second one changes nothing. It comes with [ErrUnavailable].
var ErrUncertain = errors.New("it is not known whether the write was done")

// ErrPlace: the address that was given cannot hold a store, or holds something else. Another one is needed.
var ErrPlace = errors.New("no place for a store")

// placeError is an ErrPlace that says so in its own words.
type placeError struct{ error }

func (e placeError) Unwrap() error      { return e.error }
func (placeError) Is(target error) bool { return target == ErrPlace }

func misplaced(format string, args ...any) error { return placeError{fmt.Errorf(format, args...)} }

// The codes of PostgreSQL's errors that are told apart; the first two characters are the class.
const (
	codeSerialization  = "40001"
	codeDeadlock       = "40P01"
	codeTooMany        = "53300"
	codeDiskFull       = "53100"
	codeReadOnly       = "25006"
	codeShutdown       = "57P01" // by the administrator
	codeCrash          = "57P02"
	codeNotYet         = "57P03" // it is starting, or recovering
	codeCanceled       = "57014"
	codeNoPrivilege    = "42501"
	codeNoDatabase     = "3D000"
	codeNoSchema       = "3F000"
	codeNoTable        = "42P01"
	codeLockTimeout    = "55P03"
	codeIdleTimeout    = "25P03"
	codeDatabaseGone   = "57P04"
	classConnection    = "08"
	classResources     = "53"
	classAuthorization = "28"
	codeCachedPlan     = "0A000" // a statement was prepared for tables that have changed since
	codeNoStatement    = "26000" // a pooler has given the statement to another session
	codeSameStatement  = "42P05"
)

// passing tells whether an error goes by itself, so that what failed may be tried again where nothing was committed.
func passing(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case codeSerialization, codeDeadlock, codeTooMany, codeShutdown, codeCrash, codeNotYet, codeCanceled, codeLockTimeout, codeIdleTimeout,
			codeCachedPlan:
			return true
		}
		return strings.HasPrefix(e.Code, classConnection)
	}
	return lost(err)
}

// lost tells whether the connection failed, and not what was sent over it.
func lost(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect), errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	case errors.Is(err, context.DeadlineExceeded): // of the group, not of a caller
		return true
	}
	return err != nil && strings.Contains(err.Error(), "conn closed")
}

// explain gives an error of the database in the words of this module, with the store's address and what to do.
func (s *Store) explain(err error) error {
	if err == nil {
		return nil
	}
	at := s.at.shown
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case codeDiskFull:
			return fmt.Errorf("%s: %w; make room on the database's disk, and ask again: %w", at, siding.ErrDiskFull, err)
		case codeReadOnly:
			return fmt.Errorf("%s: %w: the database is a standby, or set to read only; give the primary's address: %w", at, siding.ErrReadOnly, err)
		case codeNoPrivilege:
			return fmt.Errorf("%s: %w: the user lacks a privilege: %w", at, siding.ErrReadOnly, err)
		case codeNoDatabase, codeNoSchema:
			return misplaced("%s: %w; create the database, or give another address with --store", at, err)
		case codeNoStatement, codeSameStatement:
			return fmt.Errorf("%s: a pooler hands sessions round, in which no statement stays prepared; add default_query_exec_mode=cache_describe to the address: %w",
				at, err)
		case codeNoTable:
			return fmt.Errorf("%s: the store's tables are gone: %w", at, err)
		}
		if strings.HasPrefix(e.Code, classAuthorization) {
			return misplaced("%s: %w; check user and password", at, err)
		}
	}
	if passing(err) && !errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%s: %w; nothing is lost, ask again: %w", at, ErrUnavailable, err)
	}
	if e != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return err
}

// errDiscarded ends a delivery whose message was discarded meanwhile.
var errDiscarded = errors.New("the message was discarded during the delivery")

// isGuard tells an answer to one item of a batch from what stops the batch.
func isGuard(err error) bool {
	return errors.Is(err, siding.ErrWrongState) || errors.Is(err, siding.ErrNotFound) ||
		errors.Is(err, siding.ErrConflict) || errors.Is(err, siding.ErrNoBody)
}

// isDatabase tells an error of the database from an answer to one operation.
func isDatabase(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) || lost(err)
}

// pause gives how long to wait before a write is tried again for the n-th time, from 0.
func pause(n int) time.Duration { return min(10*time.Millisecond<<min(n, 10), time.Second) }

func errAnotherBody(id string) error {
	return fmt.Errorf("the message %q has another body: %w", id, siding.ErrConflict)
}
