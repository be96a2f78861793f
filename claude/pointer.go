package claude

import (
	"strconv"
	"strings"
)

// joinPointer writes a JSON Pointer.
func joinPointer(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// lookup follows a pointer into a decoded value. nil: there is nothing there, or null.
func lookup(v any, parts []string) any {
	for _, p := range parts {
		switch at := v.(type) {
		case map[string]any:
			v = at[p]
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}
