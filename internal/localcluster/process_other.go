//go:build !unix

package localcluster

import (
	"errors"
	"os"
	"syscall"
)

// The programs run on Unix only; here the package compiles, so that the command
// it is part of does, and every Start fails in lockFile.
const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
	pause     = syscall.SIGTERM
	resume    = syscall.SIGTERM
)

func ownGroup() *syscall.SysProcAttr { return nil }

func isGone(err error) bool { return errors.Is(err, os.ErrProcessDone) }

func lockFile(string) (*os.File, error) {
	return nil, errors.New("a local control plane needs Linux or macOS")
}
