//go:build !linux

package gauge

import "syscall"

// endWithUs has an effect on Linux only: on other systems a child outlives a kill of this program.
func endWithUs() *syscall.SysProcAttr { return nil }
