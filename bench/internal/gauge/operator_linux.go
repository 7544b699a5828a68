package gauge

import "syscall"

// endWithUs makes the kernel send SIGTERM to the child when this program is killed.
func endWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
