//go:build linux

package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworkFileSystemsInUserSpaceAreToldFromLocalOnes(t *testing.T) {
	t.Parallel()
	table := []byte(`22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
90 22 0:45 / /mnt/far rw,nosuid shared:7 master:2 - fuse.sshfs me@host: rw,user_id=0
91 22 0:46 / /mnt/disk rw,nosuid - fuse.ntfs-3g /dev/sdb1 rw
92 22 0:47 broken
`)
	require.Equal(t, "fuse.sshfs", fuseType(table, "0:45"))
	require.Empty(t, fuseType(table, "0:46"))
	require.Empty(t, fuseType(table, "0:47"))
	require.Empty(t, fuseType(table, "0:99"))
	require.Empty(t, fuseType(nil, "0:45"))
	require.Empty(t, networkFS(t.TempDir()))
}
