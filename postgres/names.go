package postgres

import (
	"fmt"
	"maps"

	"github.com/siding-dev/siding"
)

// names are the numbers of queues and files.
type names struct{ queues, files map[string]int64 }

func newNames() names { return names{queues: map[string]int64{}, files: map[string]int64{}} }

func (n names) add(m names) {
	maps.Copy(n.queues, m.queues)
	maps.Copy(n.files, m.files)
}

// queue gives the number of a queue; 0 when there is none and it is not to be made.
func (t *tx) queue(name string, create bool) (int64, error) {
	if create {
		if err := checkQueue(name); err != nil {
			return 0, err
		}
	}
	return t.numberOf("queues", name, t.s.names.queues, t.made.queues, create)
}

// file gives the number of a file's name, and makes it.
func (t *tx) file(name string) (int64, error) {
	return t.numberOf("files", siding.Scrub(name, siding.MaxHeader), t.s.names.files, t.made.files, true)
}

// numberOf gives the number that a table of names has for one, and makes it.
func (t *tx) numberOf(table, name string, known, made map[string]int64, create bool) (int64, error) {
	if id := known[name]; id != 0 {
		return id, nil
	}
	if id := made[name]; id != 0 {
		return id, nil
	}
	find := "SELECT id FROM " + table + " WHERE name = ?"
	id, err := t.number(find, name)
	if err == nil && id == 0 && create {
		id, err = t.insert("INSERT INTO "+table+" (name) VALUES (?) ON CONFLICT DO NOTHING RETURNING id", name)
		if err == nil && id == 0 { // another process has just made it
			id, err = t.number(find, name)
		}
	}
	if err != nil || id == 0 {
		return 0, err
	}
	made[name] = id
	return id, nil
}

// checkQueue says what is wrong with a queue's name.
func checkQueue(name string) error {
	if err := siding.CheckID(name); err != nil {
		return fmt.Errorf("the queue's name %q cannot be used: %w", siding.Scrub(name, 64), err)
	}
	return nil
}
