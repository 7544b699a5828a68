package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// layout knows where things are in the data directory.
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

// kubeconfigOf is the file for one user; the admin's is the one people use, and
// has the plain name.
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

// tempPattern names the directories that nobody asked to keep.
const tempPattern = "kinship-cluster-*"

// openDataDir returns the data directory, made if need be, and the lock that
// keeps a second control plane out of it.
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

// removeAbandoned removes the temporary directories of programs that were
// killed before they could. Whoever is alive holds the lock; the age covers the
// moment between making a directory and locking it.
func removeAbandoned() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), tempPattern))
	if err != nil {
		return // The pattern is a constant; it is not malformed.
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
		_ = os.RemoveAll(dir) // A rest that cannot be removed harms nobody.
		_ = lock.Close()
	}
}
