// Command testreport reads what go test -json writes and shows what a person wants to see: go test's own line for each
// package, everything that a failed test said, and which tests were skipped and why:
//
//	go test -json ./... | go run ./internal/testreport [-skips=fail]
//
// It ends with 1 when something failed, and with -skips=fail also when something was skipped.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	skips := flag.String("skips", "", "fail: a skipped test is a failure")
	flag.Parse()
	r, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if !r.conclude(os.Stdout, *skips == "fail") {
		os.Exit(1)
	}
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of a build
}

// report is what has come so far.
type report struct {
	out     io.Writer
	said    map[[2]string][]string // by package and test, for tests that have not ended
	skipped []string
	failed  int
	ended   int // packages
}

// read shows packages and failures as they end.
func read(in io.Reader, out io.Writer) (*report, error) {
	r := &report{out: out, said: map[[2]string][]string{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(out, "%s", line) // what go itself says, as of a module that is not found
			} else {
				r.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, err
		}
	}
}

func (r *report) take(e event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.said[key] = append(r.said[key], e.Output)
		return
	case "build-output":
		fmt.Fprint(r.out, e.Output)
		return
	case "build-fail":
		r.failed++
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	said := r.said[key]
	delete(r.said, key)
	if e.Test == "" {
		r.endPackage(e, said)
		return
	}
	switch e.Action {
	case "pass":
		// The race detector reports in the test that runs, and fails the ones that end; it may be another.
		if strings.Contains(strings.Join(said, ""), "DATA RACE") {
			fmt.Fprintf(r.out, "--- what %s in %s said:\n%s", e.Test, e.Package, tail(said))
		}
	case "fail":
		r.failed++
		fmt.Fprintf(r.out, "--- what %s in %s said:\n%s", e.Test, e.Package, tail(said))
	case "skip":
		r.skipped = append(r.skipped, fmt.Sprintf("%s in %s: %s", e.Test, e.Package, reason(said)))
	}
}

// endPackage shows the line of a package, and where it failed everything that is left of it: a panic or a time that ran out
// ends tests without a word of their own.
func (r *report) endPackage(e event, said []string) {
	r.ended++
	if e.Action != "fail" {
		for _, line := range said {
			if strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "?") {
				fmt.Fprint(r.out, line)
			}
		}
		return
	}
	r.failed++
	for key, rest := range r.said {
		if key[0] == e.Package {
			fmt.Fprintf(r.out, "--- what %s in %s said, and did not end:\n%s", key[1], e.Package, tail(rest))
			delete(r.said, key)
		}
	}
	fmt.Fprint(r.out, tail(said))
}

// conclude names the skipped tests, and tells whether all is well.
func (r *report) conclude(out io.Writer, noSkips bool) bool {
	if len(r.skipped) > 0 {
		fmt.Fprintf(out, "\nSkipped here:\n")
		for _, s := range r.skipped {
			fmt.Fprintf(out, "  %s\n", s)
		}
	}
	switch {
	case r.failed > 0:
		fmt.Fprintln(out, "\nFAIL")
		return false
	case r.ended == 0:
		fmt.Fprintln(out, "no package was tested")
		return false
	case noSkips && len(r.skipped) > 0:
		fmt.Fprintln(out, "\nFAIL: nothing may be skipped here")
		return false
	}
	return true
}

// tail gives the last of what was said, at most some hundred lines.
func tail(said []string) string {
	const most = 400
	if n := len(said) - most; n > 0 {
		return fmt.Sprintf("… %d lines before …\n%s", n, strings.Join(said[n:], ""))
	}
	return strings.Join(said, "")
}

// reason gives what a skipped test said, without go test's own lines.
func reason(said []string) string {
	var why []string
	for _, line := range said {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			why = append(why, line)
		}
	}
	return strings.Join(why, " ")
}
