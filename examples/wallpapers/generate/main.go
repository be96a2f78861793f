// Command generate writes the 800 records of the wallpapers example, the same bytes every time:
//
//	go run ./examples/wallpapers/generate > examples/wallpapers/metadata.jsonl
//
// Everything in the records is made up. 792 of them are as odd as real metadata is, and well; the other 8 are each broken
// in a way of their own, see broken.go. Neither the place in the file nor the ID of a record tells which it is.
package main

import (
	"fmt"
	"os"
)

func main() {
	if _, err := os.Stdout.Write(metadata()); err != nil {
		fmt.Fprintln(os.Stderr, "generate: writing the records:", err)
		os.Exit(1)
	}
}

// records is how many lines the file has.
const records = 800

// metadata gives the whole file.
func metadata() []byte {
	d := newDice(2024)
	var out []byte
	for n := range records {
		r := d.record(n)
		line := r.line()
		if breaks := broken[n]; breaks != nil {
			line = breaks(r)
		}
		out = append(append(out, line...), '\n')
	}
	return out
}
