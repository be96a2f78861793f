package intake

import (
	"bytes"
	"errors"
)

// csvState is where in a row of CSV a byte stands.
type csvState uint8

const (
	csvStart   csvState = iota // at the beginning of a field
	csvPlain                   // in a field without quotes
	csvQuoted                  // in a field with quotes
	csvClosing                 // behind a quote within such a field: its end, or the first of two
	csvReturn                  // behind that and a carriage return: a line feed must follow
)

var (
	errBareQuote  = errors.New(`a quote stands in a field that does not begin with one; put the whole field in quotes and write "" for the quote`)
	errAfterQuote = errors.New(`text follows the quote that closes a field; write "" for a quote within a field`)
	errOpenQuote  = errors.New(`a field begins with a quote, and neither on its line nor later on is there one that closes it; write "" for a quote within a field`)
)

// csvStep gives the state after c, and what is wrong there. A field is at its end where the new state is csvStart; a row
// is, where c is a line feed and the state before was not csvQuoted. After a fault the field goes on as a plain one.
func csvStep(state csvState, c, separator byte) (csvState, error) {
	switch state {
	case csvQuoted:
		if c == '"' {
			return csvClosing, nil
		}
		return csvQuoted, nil
	case csvClosing:
		switch c {
		case '"':
			return csvQuoted, nil
		case '\r':
			return csvReturn, nil
		case separator, '\n':
			return csvStart, nil
		}
		return csvPlain, errAfterQuote
	case csvReturn:
		if c == '\n' {
			return csvStart, nil
		}
		if c == separator {
			return csvStart, errAfterQuote
		}
		return csvPlain, errAfterQuote
	case csvStart:
		if c == '"' {
			return csvQuoted, nil
		}
	}
	switch c {
	case separator, '\n':
		return csvStart, nil
	case '"':
		return csvPlain, errBareQuote
	}
	return csvPlain, nil
}

// csvOrdinary tells the bytes that change nothing within a field, which are most.
func csvOrdinary(state csvState, c, separator byte) bool {
	return c != '"' && c != separator && c != '\n' && (state == csvPlain || state == csvQuoted)
}

// csvRow is a row taken apart.
type csvRow struct {
	fields [][]byte // their text; parts of the row's bytes where nothing had to be decoded
	starts []int    // where each field begins in the row
	fault  error    // the first thing that is wrong
	at     int      // where that is, in the row
	intact int      // how many fields are certain: those before the fault
}

// split takes a row apart; raw is without the line end. It reuses the row's memory.
func (row *csvRow) split(raw []byte, separator byte) {
	row.fields, row.starts, row.fault, row.at, row.intact = row.fields[:0], row.starts[:0], nil, 0, 0
	state, from := csvStart, 0
	for i, c := range raw {
		if csvOrdinary(state, c, separator) {
			continue
		}
		next, err := csvStep(state, c, separator)
		if err != nil && row.fault == nil {
			row.fault, row.at, row.intact = err, i, len(row.fields)
		}
		if next == csvStart {
			row.add(raw, from, i)
			from = i + 1
		}
		state = next
	}
	row.add(raw, from, len(raw))
	if row.fault == nil {
		row.intact = len(row.fields)
		switch state {
		case csvQuoted:
			row.fault, row.at, row.intact = errOpenQuote, from, len(row.fields)-1
		case csvReturn:
			row.fault, row.at, row.intact = errAfterQuote, len(raw)-1, len(row.fields)-1
		}
	}
}

func (row *csvRow) add(raw []byte, from, to int) {
	text := raw[from:to]
	if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1]
		if bytes.IndexByte(text, '"') >= 0 {
			text = bytes.ReplaceAll(text, []byte(`""`), []byte(`"`))
		}
	}
	row.fields = append(row.fields, text)
	row.starts = append(row.starts, from)
}
