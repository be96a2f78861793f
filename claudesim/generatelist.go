package claudesim

import (
	"encoding/json"
	"math"
	"strconv"
)

// array makes a list between its bounds; elements repeat only where nothing else is left.
func (g *generator) array(name string, schema *ordered, hints limits) any {
	prefix, _ := schema.get("prefixItems").([]any)
	least, most := hints.items(g.depth > lazyNest)
	n := least
	if most > least {
		n += g.IntN(most - least + 1)
	}
	list := []any{}
	seen := map[string]bool{}
	for i := 0; len(list) < n && i < n*20+20; i++ {
		item := schema.get("items")
		switch {
		case len(list) < len(prefix):
			item = prefix[len(list)]
		case item == false:
			return list
		case schema.has("contains") && len(list) == len(prefix):
			item = schema.get("contains")
		}
		v := g.value(name, item)
		// Equal elements look wrong in a list of tags even where the schema allows them, but a short enum may leave no choice.
		key := string(encode(v))
		if seen[key] && (hints.unique || len(list) >= least || i < n*10) {
			continue
		}
		seen[key] = true
		list = append(list, v)
	}
	return list
}

// number makes a number inside its bounds, by preference a small round one.
func (g *generator) number(name string, hints limits, whole bool) any {
	low, high := hints.bounds(name, whole)
	step := hints.step
	if whole && step == 0 {
		step = 1
	}
	if step == 0 {
		v := low + (high-low)*float64(g.IntN(101))/100
		if rounded := math.Round(v*100) / 100; rounded > low && rounded < high {
			v = rounded
		}
		if hints.lowOpen && v <= low || hints.highOpen && v >= high {
			v = low + (high-low)/2
		}
		return json.Number(strconv.FormatFloat(v, 'f', -1, 64))
	}
	from, to := math.Ceil(low/step), math.Floor(high/step)
	if hints.lowOpen && from*step <= low {
		from++
	}
	if hints.highOpen && to*step >= high {
		to--
	}
	v := from
	if to > from {
		v += float64(g.Int64N(int64(math.Min(to-from, 1e6)) + 1))
	}
	return json.Number(strconv.FormatFloat(v*step, 'f', -1, 64))
}
