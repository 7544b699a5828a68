//go:build unix

package localcluster

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
	pause     = syscall.SIGSTOP
	resume    = syscall.SIGCONT
)

// ownGroup keeps a Ctrl-C in the terminal (SIGINT) from the child processes. The terminal sends
// SIGINT to the process group in the foreground, and [Cluster.Stop] must end the children in order.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func isGone(err error) bool {
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// lockFile locks a file for as long as this process lives or until it is closed.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}
