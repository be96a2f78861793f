package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

var errQuota = unix.EDQUOT

// freeBytes gives how much an ordinary user may still write to the file system of a directory.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// networkFS names the network file system that a directory lies on, or gives "". SQLite's locks and its shared memory
// do not work across machines.
func networkFS(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS"
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph"
	case unix.CODA_SUPER_MAGIC:
		return "Coda"
	case unix.FUSE_SUPER_MAGIC:
		return networkFUSE(dir)
	}
	return ""
}

// networkFUSE tells a network file system in user space from a local one, by the type in the table of mounts.
func networkFUSE(dir string) string {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return ""
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	//nolint:unconvert // the width of Dev differs between machines
	return fuseType(table, fmt.Sprintf("%d:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev))))
}

// fuseType looks up a device in the text of /proc/self/mountinfo and gives its type where that is one of a network.
func fuseType(table []byte, device string) string {
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) < 3 || f[2] != device {
			continue
		}
		for i, v := range f {
			if v != "-" || i+1 >= len(f) {
				continue
			}
			for _, name := range []string{"sshfs", "rclone", "s3fs", "glusterfs", "davfs", "gcsfuse", "cephfs", "smbnetfs"} {
				if strings.Contains(f[i+1], name) {
					return f[i+1]
				}
			}
		}
	}
	return ""
}
