package repocheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?)\s*$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fenced  = regexp.MustCompile(`(?s)` + "```.*?```")
)

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	files := documents(t)
	require.Greater(t, len(files), 4)
	for _, file := range files {
		text := fenced.ReplaceAllString(read(t, file), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
				continue
			}
			if anchor != "" && !hasAnchor(read(t, target), anchor) {
				t.Errorf("%s links to %s; there is no such heading", file, m[1])
			}
		}
	}
}

func TestEveryDocumentCanBeFound(t *testing.T) {
	t.Parallel()
	index := read(t, "../../README.md") + read(t, "../../docs/README.md")
	for _, file := range documents(t) {
		if dir := filepath.Dir(file); dir == "../../docs" && filepath.Base(file) != "README.md" {
			require.Contains(t, index, "("+filepath.Base(file), "docs/README.md does not name %s", filepath.Base(file))
		}
	}
}

func hasAnchor(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		slug := strings.ReplaceAll(strings.ToLower(notSlug.ReplaceAllString(m[1], "")), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}

// documents gives every Markdown file of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".bin" || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			files = append(files, path)
		}
		return nil
	}))
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
