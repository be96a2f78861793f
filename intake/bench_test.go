package intake

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// cycle gives a text again and again, n bytes in all.
type cycle struct {
	text string
	at   int
	n    int64
}

func (c *cycle) Read(p []byte) (int, error) {
	if c.n <= 0 {
		return 0, io.EOF
	}
	n := copy(p, c.text[c.at:])
	c.at = (c.at + n) % len(c.text)
	c.n -= int64(n)
	return n, nil
}

// BenchmarkRead reads inputs of a gigabyte (-benchtime 1x) or less, and shows the live memory at the end: it does not
// depend on how long the input was.
func BenchmarkRead(b *testing.B) {
	pad := strings.Repeat("x", 200)
	for _, c := range []struct {
		name   string
		format Format
		before string
		record string
	}{
		{"lines", JSONLines, "", `{"id":"evt-1","title":"` + pad + `","tags":["a","b"]}` + "\n"},
		{"array", JSONArray, "[", `{"id":"evt-1","title":"` + pad + `","tags":["a","b"]},` + "\n"},
		{"csv", CSV, "id,title,tags\n", `evt-1,"` + pad + `","a, b"` + "\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.record)))
			size := int64(len(c.record)) * int64(b.N)
			in := io.MultiReader(strings.NewReader(c.before), &cycle{text: c.record, n: size})
			r, err := NewReader("x", in, 0, Options{Format: c.format, ID: "/id"})
			if err != nil {
				b.Fatal(err)
			}
			for range b.N {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "live-MB")
		})
	}
}
