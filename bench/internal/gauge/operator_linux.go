package gauge

import "syscall"

// endWithUs has the kernel end a child when this program is killed.
func endWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
