package recipe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// Error is one fault of a recipe, with its place.
type Error struct {
	File   string // as the user named it; for a fault in a schema, the schema's file
	Line   int    // from 1; 0: the fault is the file's as a whole
	Column int    // in characters, from 1; 0: not known
	Err    error  // what is wrong, and what to do
}

// Error writes file, line, column and the fault on one line that no file name or value can break.
func (e *Error) Error() string {
	place := show(e.File)
	if e.Line > 0 {
		place += fmt.Sprintf(":%d", e.Line)
		if e.Column > 0 {
			place += fmt.Sprintf(":%d", e.Column)
		}
	}
	return place + ": " + strings.ReplaceAll(siding.Scrub(e.Err.Error(), siding.MaxErrorText), "\n", " ")
}

// Unwrap gives the fault without its place.
func (e *Error) Unwrap() error { return e.Err }

// Errors are all the faults that were found in a recipe, in the order of their lines; at least one.
type Errors []*Error

// shownErrors is how many faults are written out: a file that is no recipe at all may have thousands.
const shownErrors = 20

// Error writes one fault a line, the first of them where there are many.
func (e Errors) Error() string {
	var lines []string
	for _, each := range e[:min(len(e), shownErrors)] {
		lines = append(lines, each.Error())
	}
	if more := len(e) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each fault.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, each := range e {
		list[i] = each
	}
	return list
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// show makes text from a file fit for one line of an error.
func show(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(siding.Scrub(text, 100))
}

// suggest gives the sentence that names the known word nearest to a wrong one, or all of them where none is near.
func suggest(wrong string, known []string) string {
	if best := nearest(wrong, known); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "there are " + strings.Join(known, ", ")
}

// nearest gives the known word that a wrong one was probably meant to be, or nothing.
func nearest(wrong string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(strings.ToLower(wrong), k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters must be added, taken out, changed or swapped with their neighbour to make a into b.
// Words that are far longer than any key are told apart without counting.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
