package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X main.version=…) for a release; otherwise what Go knows of the build is shown.
var version string

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Example: example("siding version"),
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionText()
			if a.json {
				return writeJSON(a.out, map[string]any{"type": "version", "v": 1, "version": v, "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(a.out, "siding %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
