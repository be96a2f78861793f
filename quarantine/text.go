package quarantine

import (
	"mime"
	"strings"

	"github.com/siding-dev/siding"
)

// shown bounds, in bytes, how much of a value a text repeats.
const shown = 120

// shorten makes a value from outside fit into one line of a text.
func shorten(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(siding.Scrub(s, shown))
}

// isJSON tells whether a content type is JSON; none is.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}
