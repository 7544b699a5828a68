package main

import (
	"fmt"
	"os"
	"time"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/localcluster"
)

// cost is the cost of one way to create the Deployments. On a busy machine, CPU time varies less
// than elapsed time (cost.took).
type cost struct {
	took time.Duration
	// apiServer, rest and own are the CPU time of kube-apiserver, of the rest of the control plane,
	// and of this program with the operator.
	apiServer, rest, own time.Duration
}

// cpu returns the sum of cost.apiServer, cost.rest and cost.own.
func (c cost) cpu() time.Duration { return c.apiServer + c.rest + c.own }

// between returns the mean of two costs.
func between(a, b cost) cost {
	return cost{
		took: (a.took + b.took) / 2, apiServer: (a.apiServer + b.apiServer) / 2,
		rest: (a.rest + b.rest) / 2, own: (a.own + b.own) / 2,
	}
}

// measured returns the cost since begin; the parameter used is the CPU time at begin.
func (r *rig) measured(begin time.Time, used cost) (cost, error) {
	now, err := r.used()
	return cost{
		took: time.Since(begin), apiServer: now.apiServer - used.apiServer,
		rest: now.rest - used.rest, own: now.own - used.own,
	}, err
}

// used returns the CPU time of all processes since their start.
func (r *rig) used() (cost, error) {
	var c cost
	for _, of := range []struct {
		pid int
		sum *time.Duration
	}{
		{os.Getpid(), &c.own},
		{r.cluster.PID(localcluster.APIServer), &c.apiServer},
		{r.cluster.PID(localcluster.Etcd), &c.rest},
		{r.cluster.PID(localcluster.ControllerManager), &c.rest},
		{r.cluster.PID(localcluster.Scheduler), &c.rest},
		{r.cluster.PID(localcluster.Kwok), &c.rest},
	} {
		p, err := gauge.ReadProcess("/proc", of.pid)
		if err != nil {
			return cost{}, fmt.Errorf("read what was used: %w", err)
		}
		*of.sum += p.CPU
	}
	return c, nil
}
