package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

// listeningLine tells where the simulator listens, with --json.
type listeningLine struct {
	Type string `json:"type"` // listening
	V    int    `json:"v"`
	URL  string `json:"url"`
	Key  string `json:"key"` // any will do, unless the profile names keys
}

// simKey is the credential that the simulator is given; it takes any.
const simKey = "simulated"

func (a *app) simCommand() *cobra.Command {
	var profile, addr, meter, portFile string
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run a local Claude API that fails as planned and keeps a bill",
		Long: "Sim serves a stand-in for the Claude API until it is stopped. It costs nothing and needs no account. A profile\n" +
			"says how it fails: a built-in one (" + strings.Join(claudesim.ProfileNames(), ", ") + ") or a YAML file.\n" +
			"GET /sim/meter tells what was really billed.",
		Example: example("siding sim", "siding sim --profile rough --addr 127.0.0.1:8080 --meter meter.jsonl"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadProfile("--profile", profile)
			if err != nil {
				return err
			}
			server, err := claudesim.New(p, claudesim.Options{MeterFile: meter})
			if err != nil {
				return usagef("--meter %s: %w", siding.Scrub(meter, 512), err)
			}
			if err := server.Listen(addr); err != nil {
				_ = server.Close()
				return usagef("--addr %s: %w; give another address and port", siding.Scrub(addr, 128), err)
			}
			err = a.serveSim(cmd.Context(), server, portFile)
			if cerr := server.Close(); err == nil {
				err = cerr
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&profile, "profile", "clean", "a built-in profile, or a YAML file")
	f.StringVar(&addr, "addr", "127.0.0.1:0", "where to listen; port 0 is any free one")
	f.StringVar(&meter, "meter", "", "append each call and its bill to this file, and go on with what is in it")
	f.StringVar(&portFile, "port-file", "", "write the port to this file when the simulator listens")
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(claudesim.ProfileNames(), cobra.ShellCompDirectiveDefault))
	return cmd
}

func (a *app) serveSim(ctx context.Context, server *claudesim.Server, portFile string) error {
	at := server.URL()
	if portFile != "" {
		u, err := url.Parse(at)
		if err != nil {
			return err
		}
		file, err := openOut(portFile, nil, true)
		if err == nil {
			err = file.write(func(w io.Writer) error {
				_, err := fmt.Fprintln(w, u.Port())
				return err
			})
		}
		if err != nil {
			return usagef("--port-file: %w", err)
		}
		defer func() { _ = os.Remove(portFile) }()
	}
	if a.json {
		if err := writeJSON(a.out, listeningLine{"listening", 1, at, simKey}); err != nil {
			return err
		}
	} else {
		_, _ = fmt.Fprintf(a.out, "The simulated Claude API listens at %s. In another shell:\n\n"+
			"  export ANTHROPIC_BASE_URL=%s\n  export ANTHROPIC_API_KEY=%s\n\nIts bill: %s/sim/meter   Stop it with Ctrl-C.\n",
			at, at, simKey, at)
	}
	<-ctx.Done()
	t := server.Meter().Totals
	a.hintf("%s, %d billed, %s", counted(t.Calls, "call"), t.Billed, dollars(siding.Money(t.CostPico)))
	return nil
}

// loadProfile gives a built-in profile or one from a file.
func loadProfile(flag, name string) (*claudesim.Profile, error) {
	p, err := claudesim.LoadProfile(name)
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	return p, nil
}
