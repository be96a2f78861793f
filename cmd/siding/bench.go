package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding/sqlite"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	jobs, producers, workers, body int
}

func (a *app) benchCommand() *cobra.Command {
	f := benchFlags{jobs: 20_000, producers: 64, workers: 64, body: 1024}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast the store is on this machine",
		Long: "Bench takes messages through their full durable life (enqueue, lease, settle; on the disk before each reply, history\n" +
			"kept) in a store of its own, which it removes, unless --store names one. Producers enqueue one message at a time,\n" +
			"workers lease and settle one at a time, all at once.",
		Example: example("siding bench", "siding bench --jobs 100000 --producers 8 --workers 8 --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, n := range []struct {
				name              string
				value, least, top int
			}{{"jobs", f.jobs, 1, 100_000_000}, {"producers", f.producers, 1, 10_000}, {"workers", f.workers, 1, 10_000}, {"body", f.body, 0, 32 << 20}} {
				if n.value < n.least || n.value > n.top {
					return usagef("--%s is %d; it must be %d to %d", n.name, n.value, n.least, n.top)
				}
			}
			return a.bench(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.jobs, "jobs", f.jobs, "how many messages")
	fl.IntVar(&f.producers, "producers", f.producers, "how many producers at once")
	fl.IntVar(&f.workers, "workers", f.workers, "how many workers at once")
	fl.IntVar(&f.body, "body", f.body, "the size of a body in bytes")
	return cmd
}

// benchLine is what bench measured, with --json. Latencies are in milliseconds.
type benchLine struct {
	Type          string      `json:"type"` // bench
	V             int         `json:"v"`
	Jobs          int         `json:"jobs"`
	Producers     int         `json:"producers"`
	Workers       int         `json:"workers"`
	BodyBytes     int         `json:"body_bytes"`
	Seconds       float64     `json:"seconds"`
	JobsPerSecond float64     `json:"jobs_per_second"`
	BytesPerJob   float64     `json:"bytes_per_job"` // growth of the store's files
	Enqueue       percentiles `json:"enqueue_ms"`
	LeaseToSettle percentiles `json:"lease_to_settle_ms"`
	Whole         percentiles `json:"enqueue_to_settled_ms"`
	CPUs          int         `json:"cpus"`
	Version       string      `json:"version"`
}

func (a *app) bench(ctx context.Context, f benchFlags) error {
	path := a.storeURL
	if path == "" {
		dir, err := os.MkdirTemp(".", ".siding-bench-") // on the disk that is meant, not in memory as /tmp may be
		if err != nil {
			return fmt.Errorf("making a folder for the store: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		path = filepath.Join(dir, defaultStore)
	}
	store, err := sqlite.Open(ctx, path, sqlite.Options{Mode: sqlite.Real})
	if err != nil {
		return openError(err)
	}
	before := fileBytes(path)
	b := &benchRun{store: store, flags: f, queue: fmt.Sprintf("bench-%d", time.Now().UnixNano())}
	began := time.Now()
	err = b.run(ctx)
	took := time.Since(began)
	if cerr := store.Close(); err == nil { // what is in the log of changes comes to the file
		err = cerr
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return storeError(err)
	}
	line := benchLine{
		Type: "bench", V: 1, Jobs: f.jobs, Producers: f.producers, Workers: f.workers, BodyBytes: f.body,
		Seconds: took.Seconds(), JobsPerSecond: float64(f.jobs) / took.Seconds(),
		BytesPerJob: float64(fileBytes(path)-before) / float64(f.jobs),
		Enqueue:     percentilesOf(b.enqueue), LeaseToSettle: percentilesOf(b.settle), Whole: percentilesOf(b.whole),
		CPUs: runtime.GOMAXPROCS(0), Version: versionText(),
	}
	if a.json {
		return writeJSON(a.out, line)
	}
	_, _ = fmt.Fprintf(a.out, "%d jobs of %d bytes in %.2f s: %.0f jobs/s, %.0f bytes per job (%d producers, %d workers, %d CPUs)\n",
		line.Jobs, line.BodyBytes, line.Seconds, line.JobsPerSecond, line.BytesPerJob, line.Producers, line.Workers, line.CPUs)
	t := newTable(a.out, "MILLISECONDS", "P50", "P90", "P99", "MAX")
	for _, r := range []struct {
		name string
		p    percentiles
	}{{"enqueue", line.Enqueue}, {"lease to settle", line.LeaseToSettle}, {"enqueue to settled", line.Whole}} {
		t.row(r.name, ms(r.p.P50), ms(r.p.P90), ms(r.p.P99), ms(r.p.Max))
	}
	return t.flush()
}

func ms(f float64) string { return fmt.Sprintf("%.2f", f) }

// fileBytes gives the size of the store's files.
func fileBytes(path string) (n int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			n += info.Size()
		}
	}
	return n
}
