package claudesim

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

func asYAML(err error, to *yaml.Error) bool { return errors.As(err, to) }

// scalar reads a node's text and reports mistakes at its place.
func scalar(node ast.Node, set func(string) error) error {
	text := strings.Trim(strings.TrimSpace(node.String()), `"'`)
	if err := set(text); err != nil {
		return &yaml.SyntaxError{Message: err.Error(), Token: node.GetToken()}
	}
	return nil
}

// A Rate is an amount per time, with room for a burst: "600/min", "10/s", "10/s burst 20". The burst is what a full
// bucket holds; by default one period's amount.
type Rate struct {
	Amount int64
	Per    time.Duration
	Burst  int64
}

// ParseRate reads a rate. Amounts and bursts are at least 1; the period is s, min or h.
func ParseRate(text string) (*Rate, error) {
	head, burst, hasBurst := strings.Cut(text, " burst ")
	amount, unit, ok := strings.Cut(strings.TrimSpace(head), "/")
	r := &Rate{}
	switch unit {
	case "s":
		r.Per = time.Second
	case "min":
		r.Per = time.Minute
	case "h":
		r.Per = time.Hour
	default:
		ok = false
	}
	var err1, err2 error
	r.Amount, err1 = strconv.ParseInt(strings.TrimSpace(amount), 10, 64)
	r.Burst = r.Amount
	if hasBurst {
		r.Burst, err2 = strconv.ParseInt(strings.TrimSpace(burst), 10, 64)
	}
	if !ok || err1 != nil || err2 != nil || r.Amount < 1 || r.Burst < 1 {
		return nil, fmt.Errorf("%q is no rate; write an amount per s, min or h, such as 600/min or 10/s burst 20", text)
	}
	return r, nil
}

// UnmarshalYAML reads a rate from its text.
func (r *Rate) UnmarshalYAML(node ast.Node) error {
	return scalar(node, func(text string) error {
		parsed, err := ParseRate(text)
		if err == nil {
			*r = *parsed
		}
		return err
	})
}

// perMinute is the rate as the service's headers give it.
func (r *Rate) perMinute() int64 {
	return int64(math.Round(float64(r.Amount) * float64(time.Minute) / float64(r.Per)))
}

// A Span is a range of ordinals, both ends included: "3", "10-20", "5-" (from the fifth on).
type Span struct{ From, To int64 }

// Upto is the span of the first n.
func Upto(n int64) *Span { return &Span{1, n} }

// UnmarshalYAML reads a span from its text.
func (s *Span) UnmarshalYAML(node ast.Node) error {
	return scalar(node, func(text string) error {
		from, to, ranged := strings.Cut(text, "-")
		var err1, err2 error
		s.From, err1 = strconv.ParseInt(strings.TrimSpace(from), 10, 64)
		switch to = strings.TrimSpace(to); {
		case !ranged:
			s.To = s.From
		case to == "":
			s.To = math.MaxInt64
		default:
			s.To, err2 = strconv.ParseInt(to, 10, 64)
		}
		if err1 != nil || err2 != nil || s.From < 1 || s.To < s.From {
			return fmt.Errorf("%q is no span; write a number from 1 on, or a range such as 10-20 or 5-", text)
		}
		return nil
	})
}

func (s *Span) holds(n int64) bool { return s == nil || n >= s.From && n <= s.To }
