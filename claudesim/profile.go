package claudesim

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A Profile says how the simulated service behaves. The zero value is a service without limits, delays or faults.
type Profile struct {
	// Version of the format; 1, or 0 for the current one.
	Version int `yaml:"version"`
	// Extends names a built-in profile whose settings count where this one has none, and whose faults come after this
	// one's.
	Extends string `yaml:"extends"`
	// Seed decides the random faults and delays. Default 0, which is a seed like any other.
	Seed uint64 `yaml:"seed"`
	// Keys are the credentials that are taken. Empty: any that is not empty.
	Keys []string `yaml:"keys"`
	// Models adds models, or changes the limits of known ones.
	Models []Model `yaml:"models"`
	// Latency is how long answers take. Default: no time.
	Latency Latency `yaml:"latency"`
	// Limits are the rate limits. Default: none.
	Limits Limits `yaml:"limits"`
	// Abandoned says whether a call whose client leaves before the answer is "billed" (the default, as the work is done
	// all the same) or "unbilled".
	Abandoned string `yaml:"abandoned"`
	// Schemas says whether structured output takes the part of JSON Schema that the service does ("strict", the
	// default), or any schema ("lenient").
	Schemas string `yaml:"schemas"`
	// Faults are tried in order; the first one that applies to a call decides how it fails.
	Faults []Rule `yaml:"faults"`
}

// Latency is how long an answer takes: Fixed, plus up to Jitter, plus PerOutputToken for each token of the answer.
// Refusals take a tenth of Fixed.
type Latency struct {
	Fixed          time.Duration `yaml:"fixed"`
	Jitter         time.Duration `yaml:"jitter"`
	PerOutputToken time.Duration `yaml:"per_output_token"`
}

// Limits are token buckets with continuous refill, one of each for every model, and what else bounds a call.
type Limits struct {
	Requests     *Rate `yaml:"requests"`
	InputTokens  *Rate `yaml:"input_tokens"`
	OutputTokens *Rate `yaml:"output_tokens"`
	// Concurrency is how many calls may be in work at once. 0: any number.
	Concurrency int `yaml:"concurrency"`
	// ImageBytes is the largest image, in bytes of its base64. 0: 10 MiB.
	ImageBytes int64 `yaml:"image_bytes"`
}

// A ProfileError says what is wrong with a profile, and where: Line and Column from 1, both 0 when it did not come
// from a file; Path is the setting.
type ProfileError struct {
	Line, Column int
	Path         string
	Msg          string
}

func (e *ProfileError) Error() string {
	where := e.Path
	if e.Line > 0 {
		where = strings.TrimSuffix(fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Path), ": ")
	}
	return "simulator profile: " + where + ": " + e.Msg
}

//go:embed profiles/*.yaml
var builtin embed.FS

// ProfileNames lists the built-in profiles, sorted.
func ProfileNames() []string {
	files, err := builtin.ReadDir("profiles")
	if err != nil {
		panic("claudesim: the built-in profiles are missing: " + err.Error())
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// BuiltinProfile returns a built-in profile. The error lists the names that there are.
func BuiltinProfile(name string) (*Profile, error) {
	if !slices.Contains(ProfileNames(), name) {
		return nil, fmt.Errorf("simulator profile: no built-in profile is called %q; there are %s", name, strings.Join(ProfileNames(), ", "))
	}
	data, err := builtin.ReadFile(path.Join("profiles", name+".yaml"))
	if err != nil {
		return nil, err
	}
	return ParseProfile(data)
}

// LoadProfile reads a profile from a file, or takes the built-in one when the name is that of one and has no dot or
// slash. Mistakes in the file come back as *ProfileError.
func LoadProfile(name string) (*Profile, error) {
	if !strings.ContainsAny(name, `./\`) {
		return BuiltinProfile(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("simulator profile: %w", err)
	}
	return ParseProfile(data)
}

// ParseProfile reads a profile from YAML. Unknown settings are mistakes. Mistakes come back as *ProfileError.
func ParseProfile(data []byte) (*Profile, error) {
	p := &Profile{}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, positioned(err)
	}
	if strings.TrimSpace(string(data)) != "" {
		if err := yaml.UnmarshalWithOptions(data, p, yaml.Strict()); err != nil {
			return nil, positioned(err)
		}
	}
	if err := p.Validate(); err != nil {
		if pe, ok := errors.AsType[*ProfileError](err); ok {
			pe.locate(file)
		}
		return nil, err
	}
	return p, nil
}

// Validate checks a profile. The error is a *ProfileError.
func (p *Profile) Validate() error {
	_, err := newPlan(p)
	return err
}

// positioned turns an error of the YAML library into one with a place.
func positioned(err error) error {
	e := &ProfileError{Msg: err.Error()}
	var y yaml.Error
	if asYAML(err, &y) {
		e.Msg = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

// locate finds the place of a setting, or of the nearest one around it that the file has.
func (e *ProfileError) locate(file *ast.File) {
	for at := e.Path; at != ""; {
		if p, err := yaml.PathString("$." + at); err == nil {
			if node, err := p.FilterFile(file); err == nil && node != nil && node.GetToken() != nil {
				e.Line, e.Column = node.GetToken().Position.Line, node.GetToken().Position.Column
				return
			}
		}
		cut := strings.LastIndexAny(at, ".[")
		if cut < 0 {
			return
		}
		at = at[:cut]
	}
}
