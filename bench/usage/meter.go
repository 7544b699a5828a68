package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

// Names of the measured processes in reading.processes.
const (
	operatorProcess  = "operator"
	apiServerProcess = "apiserver"
	etcdProcess      = "etcd"
	ownProcess       = "generator"
)

// processNames is the order of the processes in costTable.
var processNames = []string{operatorProcess, apiServerProcess, etcdProcess, ownProcess}

// meter reads counters. meter never resets a counter, so other readers are not disturbed.
type meter struct {
	server   rest.Interface
	own      *ownRequests
	pids     map[string]int
	auditLog string
}

func newMeter(server rest.Interface, own *ownRequests, o *options) *meter {
	m := &meter{server: server, own: own, auditLog: o.auditLog, pids: map[string]int{ownProcess: os.Getpid()}}
	for name, pid := range map[string]int{
		operatorProcess: o.operatorPID, apiServerProcess: o.apiServerPID, etcdProcess: o.etcdPID,
	} {
		if pid != 0 {
			m.pids[name] = pid
		}
	}
	return m
}

// reading has the values of all counters at a time.
type reading struct {
	at        time.Time
	server    gauge.Counts
	own       gauge.Counts
	processes map[string]gauge.Process
	audit     int64
}

// settleTime is the pause until the API server has counted the requests that it has answered.
const settleTime = 100 * time.Millisecond

func (m *meter) read(ctx context.Context) (reading, error) {
	if err := pause(ctx, settleTime); err != nil {
		return reading{}, err
	}
	r := reading{at: time.Now(), processes: map[string]gauge.Process{}}
	var err error
	for name, pid := range m.pids {
		if r.processes[name], err = gauge.ReadProcess("/proc", pid); err != nil {
			return reading{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if r.audit, err = auditSize(m.auditLog); err != nil {
		return reading{}, err
	}
	r.own = m.own.snapshot()
	r.server, err = gauge.ReadCounts(ctx, m.server)
	return r, err
}

// load is the resource usage of a process during a scenario.
type load struct {
	CPUSeconds float64 `json:"cpuSeconds"`
	MemoryMB   float64 `json:"memoryMB"`
	PeakMB     float64 `json:"peakMB"`
}

// cost is the difference of two readings.
type cost struct {
	Scenario string `json:"scenario"`
	// Usages is the number of Usages, Operations the number of operations of the generator.
	Usages     int     `json:"usages"`
	Operations int     `json:"operations"`
	Seconds    float64 `json:"seconds"`
	// Requests counts the requests that the generator did not send; Reads, Writes and Reviews count
	// by gauge.Class.
	Requests int `json:"requests"`
	Reads    int `json:"reads"`
	Writes   int `json:"writes"`
	Reviews  int `json:"reviews"`
	// Own counts the requests of the generator (ownRequests).
	Own       int             `json:"own"`
	Processes map[string]load `json:"processes"`
	Breakdown []requestCount  `json:"breakdown"`
	Clients   []requestCount  `json:"clients,omitempty"`
}

const megabyte = 1e6

// since returns the difference of two readings.
func (m *meter) since(before, after reading) (cost, error) {
	own := after.own.Minus(before.own)
	others := after.server.Minus(before.server).Minus(own)
	c := cost{
		Seconds:   after.at.Sub(before.at).Seconds(),
		Requests:  others.Total(),
		Reads:     others.Of(gauge.Reads),
		Writes:    others.Of(gauge.Writes),
		Reviews:   others.Of(gauge.Reviews),
		Own:       own.Total(),
		Processes: map[string]load{},
		Breakdown: sortedRequests(others),
	}
	for name, p := range after.processes {
		c.Processes[name] = load{
			CPUSeconds: (p.CPU - before.processes[name].CPU).Seconds(),
			MemoryMB:   float64(p.RSS) / megabyte,
			PeakMB:     float64(p.Peak) / megabyte,
		}
	}
	clients, err := auditBetween(m.auditLog, before.audit, after.audit)
	if err != nil {
		return cost{}, err
	}
	c.Clients = sortedCounts(clients)
	return c, nil
}

// pause waits for a duration, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
