package recipe

import (
	"fmt"
	"strings"

	"github.com/siding-dev/siding"
)

// maxDollars is the largest amount that a recipe may name; sums stay far from what Money can hold.
const maxDollars = 9_000_000

// ParseMoney reads an amount of dollars, like 5, 5.00 or 0.000001, exactly: at most twelve decimals, no sign, no
// exponent, at most nine million.
func ParseMoney(text string) (siding.Money, error) {
	whole, decimals, point := strings.Cut(text, ".")
	const places = 12
	if !isDigits(whole) || point && !isDigits(decimals) {
		return 0, fmt.Errorf("%q is no amount of dollars; write for instance 5 or 5.00", show(text))
	}
	decimals = strings.TrimRight(decimals, "0")
	if len(decimals) > places {
		return 0, fmt.Errorf("%q has more than %d decimals", show(text), places)
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > 7 {
		return 0, fmt.Errorf("%q is more than %d dollars", show(text), maxDollars)
	}
	var m siding.Money
	for _, c := range whole + decimals + strings.Repeat("0", places-len(decimals)) {
		m = m*10 + siding.Money(c-'0')
	}
	if m > maxDollars*siding.USD {
		return 0, fmt.Errorf("%q is more than %d dollars", show(text), maxDollars)
	}
	return m, nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
