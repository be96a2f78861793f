package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/siding-dev/siding"
)

// openReadOnly opens the store for looking. Where the files beside it cannot be made (a read-only disk), the file is read
// as one that nobody changes, provided that nothing waits in its log.
func (s *Store) openReadOnly() error {
	const params = "_query_only=1"
	s.readDSN = dsn(s.path, "mode=ro", params, "_busy_timeout=30000", "_dqs=0")
	c, err := s.look()
	if err != nil && !errors.Is(err, siding.ErrNewerStore) && !errors.Is(err, siding.ErrStoreMode) && s.quiet() {
		s.readDSN = dsn(s.path, "mode=ro", "immutable=1", params, "_dqs=0")
		c, err = s.look()
	}
	if err != nil {
		return err
	}
	s.readers <- c
	return nil
}

func (s *Store) look() (*conn, error) {
	c, err := dial(s.readDSN)
	if err != nil {
		return nil, explain(s.path, err)
	}
	format, err := layout(c, s.path)
	if err == nil && format < Format {
		err = fmt.Errorf("%s has no store of this version in it yet; siding run, work or send makes it one", s.path)
	}
	if err == nil {
		err = s.readInfo(c)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// quiet tells whether no log waits beside the file.
func (s *Store) quiet() bool {
	st, err := os.Stat(s.path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && st.Size() == 0
}
