package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// layout is the path of [Cluster.DataDir]. Its methods return the paths of logs, certificates and
// kubeconfigs.
type layout string

func (l layout) etcdData() string          { return filepath.Join(string(l), "etcd") }
func (l layout) pki() string               { return filepath.Join(string(l), "pki") }
func (l layout) caCert() string            { return l.cert("ca") }
func (l layout) cert(name string) string   { return filepath.Join(l.pki(), name+".crt") }
func (l layout) key(name string) string    { return filepath.Join(l.pki(), name+".key") }
func (l layout) serviceAccountKey() string { return l.key("service-account") }
func (l layout) serviceAccountPublicKey() string {
	return filepath.Join(l.pki(), "service-account.pub")
}
func (l layout) stages() string         { return filepath.Join(string(l), "stages.yaml") }
func (l layout) log(name string) string { return filepath.Join(string(l), "logs", name+".log") }
func (l layout) lock() string           { return filepath.Join(string(l), "lock") }

// kubeconfigOf returns the path of a user's kubeconfig. The admin's file has the plain name,
// since people use that file.
func (l layout) kubeconfigOf(user string) string {
	if user == admin {
		return filepath.Join(string(l), "kubeconfig")
	}
	return filepath.Join(string(l), user+".kubeconfig")
}

func (l layout) create() error {
	for _, dir := range []string{l.etcdData(), l.pki(), filepath.Dir(l.log(""))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create the data directory: %w", err)
		}
	}
	return nil
}

// tempPattern is the name pattern of temporary data directories.
const tempPattern = "kinship-cluster-*"

// openDataDir returns the data directory, created if needed, and the lock that keeps a second
// control plane out of the directory.
func openDataDir(named string) (layout, *os.File, error) {
	if named == "" {
		removeAbandoned()
		temp, err := os.MkdirTemp("", tempPattern)
		if err != nil {
			return "", nil, fmt.Errorf("create a temporary data directory: %w", err)
		}
		named = temp
	}
	absolute, err := filepath.Abs(named)
	if err != nil {
		return "", nil, fmt.Errorf("find the data directory: %w", err)
	}
	dir := layout(absolute)
	if err := dir.create(); err != nil {
		return "", nil, err
	}
	lock, err := lockFile(dir.lock())
	if err != nil {
		return "", nil, fmt.Errorf("data directory %s is in use by another control plane: %w", dir, err)
	}
	return dir, lock, nil
}

// removeAbandoned removes temporary directories of programs that were killed before [Cluster.Stop].
// A running program holds the lock of its directory (Cluster.lock); the minimum age covers the
// moment between os.MkdirTemp and the lock.
func removeAbandoned() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), tempPattern))
	if err != nil {
		return // The constant pattern is well formed.
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		lock, err := lockFile(layout(dir).lock())
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir) // A directory that can't be removed does no harm.
		_ = lock.Close()
	}
}
