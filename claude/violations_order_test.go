package claude

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault that reads differently each time would fall into many groups.
func TestUndeclaredFieldsAreNamedInOneOrder(t *testing.T) {
	t.Parallel()
	s, err := CompileSchema([]byte(`{"type":"object","properties":{"a":{}},"additionalProperties":false}`))
	require.NoError(t, err)
	for range 50 {
		err := s.check(decode([]byte(`{"zeta":1,"alpha":2,"mid":3,"beta":4}`)))
		require.ErrorContains(t, err, "'alpha', 'beta', 'mid', 'zeta'")
	}
}
