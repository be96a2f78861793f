package claudesim

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// limits are the bounds of a value, from the schema's keywords or, failing these, from its description: clients move
// the keywords that the service refuses into the description, and a model mostly obeys them there.
type limits struct {
	number            map[string]float64
	unique            bool
	pattern           string
	step              float64
	lowOpen, highOpen bool
}

var (
	inDescription = regexp.MustCompile(`\b(minItems|maxItems|minLength|maxLength|minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf)\b["']?\s*[:=]\s*(-?[0-9]+(?:\.[0-9]+)?)`)
	uniqueHint    = regexp.MustCompile(`\buniqueItems\b["']?\s*[:=]\s*true`)
)

func readHints(schema *ordered) limits {
	l := limits{number: map[string]float64{}}
	if text, ok := schema.get("description").(string); ok {
		for _, m := range inDescription.FindAllStringSubmatch(text, -1) {
			if v, err := strconv.ParseFloat(m[2], 64); err == nil {
				l.number[m[1]] = v
			}
		}
		l.unique = uniqueHint.MatchString(text)
	}
	for _, key := range schema.keys {
		if v, ok := number(schema.get(key)); ok {
			l.number[key] = v
		}
	}
	if schema.get("uniqueItems") == true {
		l.unique = true
	}
	l.pattern, _ = schema.get("pattern").(string)
	if v := l.number["multipleOf"]; v > 0 {
		l.step = v
	}
	return l
}

// items is how many elements an array may have. Without bounds: two to four.
func (l limits) items(lazy bool) (least, most int) {
	low, lowSet := l.number["minItems"]
	high, highSet := l.number["maxItems"]
	least, most = int(low), int(math.Min(high, 1e4))
	switch {
	case !lowSet && !highSet:
		least, most = 2, 4
	case !lowSet:
		least, most = min(2, most), min(most, 5)
	case !highSet:
		most = least + 3
	default:
		most = min(most, least+5)
	}
	if lazy {
		least = int(low)
		most = least
	}
	return least, max(least, most)
}

// bounds is the range of a number. Without bounds: 0 to 1 for shares and confidences, else 0 to 100.
func (l *limits) bounds(name string, whole bool) (low, high float64) {
	span := 100.0
	name = strings.ToLower(name)
	for _, share := range []string{"confidence", "score", "probability", "ratio", "share"} {
		if !whole && strings.Contains(name, share) {
			span = 1
		}
	}
	low, lowSet := l.number["minimum"]
	high, highSet := l.number["maximum"]
	return l.open(low, high, lowSet, highSet, span)
}

func (l *limits) open(low, high float64, lowSet, highSet bool, span float64) (float64, float64) {
	if v, ok := l.number["exclusiveMinimum"]; ok && (!lowSet || v >= low) {
		low, lowSet, l.lowOpen = v, true, true
	}
	if v, ok := l.number["exclusiveMaximum"]; ok && (!highSet || v <= high) {
		high, highSet, l.highOpen = v, true, true
	}
	switch {
	case !lowSet && !highSet:
		return 0, span
	case !lowSet:
		if high > 0 {
			return 0, high
		}
		return high - span, high
	case !highSet:
		return low, math.Max(low, 0) + math.Max(span, 2*l.step)
	}
	return low, high
}
