package main

import (
	"fmt"
	"os"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/localcluster"
)

// usage is the gauge.Process of the operator and of the API server.
type usage struct{ operator, server gauge.Process }

// usage reads both processes. A process that gauge.ReadProcess can't read counts as 0, and
// os.Stderr gets the error.
func (r *rig) usage() (u usage) {
	if r.operator != nil {
		u.operator = read(r.operator.PID)
	}
	u.server = read(r.cluster.PID(localcluster.APIServer))
	return u
}

func read(pid int) gauge.Process {
	p, err := gauge.ReadProcess("/proc", pid)
	if err != nil {
		fmt.Fprintln(os.Stderr, "A process is not measured:", err)
	}
	return p
}

// since returns the CPU time since an earlier usage, as text.
func (u usage) since(before usage) string {
	return fmt.Sprintf("%.1f s, %.1f s", (u.operator.CPU - before.operator.CPU).Seconds(),
		(u.server.CPU - before.server.CPU).Seconds())
}
