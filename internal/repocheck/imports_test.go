package repocheck

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/siding-dev/siding"

// arrows says which packages of this module each folder may import: arrows point down only. The root is ".", a folder
// stands for those below it too, and "*" is all of them. CONTRIBUTING.md has the same map in words.
var arrows = map[string][]string{
	".":                   {},
	"claudesim":           {}, // a stand-in for somebody else's service: it must not share our mistakes
	"sqlite":              {"."},
	"postgres":            {"."},
	"memory":              {"."},
	"worker":              {"."},
	"claude":              {"."},
	"webhook":             {"."},
	"command":             {"."},
	"intake":              {"."},
	"storetest":           {".", "memory"}, // the plain store that others are compared with
	"recipe":              {".", "claude", "webhook", "command", "quarantine", "alert"},
	"alert":               {"."},
	"quarantine":          {".", "claude"},
	"cmd/siding":          {"*"},
	"examples":            {"*"},
	"internal/repocheck":  {}, // its tests may
	"internal/testreport": {},
	"internal/mutants":    {},
	"internal/pgtest":     {},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestArrowsPointDownOnly(t *testing.T) {
	t.Parallel()
	packages := list(t)
	require.Greater(t, len(packages), 5, "the list of packages is too short to be true")
	for _, p := range packages {
		from := folder(p.ImportPath)
		at, allowed := allowedFor(from)
		if at == "" {
			t.Errorf("%s is not on the map: say in arrows (and in CONTRIBUTING.md) what it may import", from)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if to = strings.TrimPrefix(to, "/"); !ours {
				continue
			}
			if to == "" {
				to = "."
			}
			if !within(to, at) && !slices.ContainsFunc(allowed, func(a string) bool { return a == "*" || within(to, a) }) {
				t.Errorf("%s imports %s; it may import %q", from, to, allowed)
			}
		}
	}
}

func TestNobodyImportsTheCommandOrAnExample(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		for _, imported := range p.Imports {
			for _, top := range []string{module + "/cmd/", module + "/examples/", module + "/internal/repocheck"} {
				require.False(t, strings.HasPrefix(imported, top) && !strings.HasPrefix(p.ImportPath, top), "%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestTheMapOfTheCodeNamesEveryFolder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	for at := range arrows {
		if at != "." {
			require.Contains(t, string(text), "`"+at+"/`", "CONTRIBUTING.md does not say what %s is", at)
		}
	}
	for _, p := range list(t) {
		at, _ := allowedFor(folder(p.ImportPath))
		require.NotEmpty(t, at, p.ImportPath)
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// folder gives an import path within the module as a folder.
func folder(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// allowedFor finds the entry for a folder, or for the nearest one above it.
func allowedFor(dir string) (string, []string) {
	for at := dir; at != ""; {
		if allowed, ok := arrows[at]; ok {
			return at, allowed
		}
		cut := strings.LastIndexByte(at, '/')
		if cut < 0 {
			return "", nil
		}
		at = at[:cut]
	}
	return "", nil
}

// within tells whether dir is top or lies below it; nothing but the root lies in the root.
func within(dir, top string) bool {
	return dir == top || top != "." && strings.HasPrefix(dir, top+"/")
}
