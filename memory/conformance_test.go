package memory_test

import (
	"testing"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{New: func(_ testing.TB, o storetest.Options) storetest.Data {
		first := memory.Open(memory.Options{Clock: o.Clock, Hook: o.Hook})
		opened := false
		return storetest.Data{
			Open: func(testing.TB) siding.Store {
				if !opened {
					opened = true
					return first
				}
				return first.Another()
			},
			Kill:    func(_ testing.TB, s siding.Store) { s.(*memory.Store).Kill() },
			Restart: func(testing.TB) { first.Restart() },
			Outdate: func(_ testing.TB, k siding.GroupKey, fingerprint string) { first.Another().Outdate(k, fingerprint) },
		}
	}})
}
