package webhook

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault that reads differently each time would fall into many groups.
func TestUndeclaredFieldsAreNamedInOneOrder(t *testing.T) {
	t.Parallel()
	s, err := compileSchema([]byte(`{"type":"object","properties":{"a":{}},"additionalProperties":false}`))
	require.NoError(t, err)
	for range 50 {
		require.ErrorContains(t, s.fits([]byte(`{"zeta":1,"alpha":2,"mid":3,"beta":4}`)), "'alpha', 'beta', 'mid', 'zeta'")
	}
}
