package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// options are the values of the flags.
type options struct {
	kubeconfig string
	usage      target

	n         int
	others    int
	runs      int
	scenarios []string
	output    string
	timeout   time.Duration

	latencySamples int
	blockedSamples int
	releaseSamples int
	gcSamples      int
	throughput     time.Duration
	clients        int
	hold           time.Duration
	idle           time.Duration
	stripAs        string

	operatorPID  int
	apiServerPID int
	etcdPID      int
	auditLog     string

	local        bool
	audit        bool
	operatorBin  string
	operatorArgs []string
	dataDir      string
}

// target is the measured kind of Usage.
type target struct{ group, version, kind, resource string }

func (t target) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.group, Version: t.version, Resource: t.resource}
}

func (t target) apiVersion() string { return t.group + "/" + t.version }

func defaults() *options {
	return &options{
		usage: target{"protection.crossplane.io", "v1beta1", "Usage", "usages"},
		n:     1000, runs: 3, scenarios: []string{"all"}, output: "text", timeout: 2 * time.Minute,
		latencySamples: 40, blockedSamples: 300, releaseSamples: 48, gcSamples: 6,
		throughput: 8 * time.Second, clients: 16, hold: 10 * time.Second, idle: time.Minute,
		operatorBin: "bin/kinship",
	}
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "file that says how to reach the cluster, as an administrator")
	f.StringVar(&o.usage.group, "group", o.usage.group, "API group of the Usage kind")
	f.StringVar(&o.usage.version, "version", o.usage.version, "version of the Usage kind")
	f.StringVar(&o.usage.kind, "kind", o.usage.kind, "name of the Usage kind")
	f.StringVar(&o.usage.resource, "resource", o.usage.resource, "plural name of the Usage kind")

	f.IntVar(&o.n, "n", o.n, "the most Usages to create")
	f.IntVar(&o.others, "others", o.others, "objects of the same kind to create that no Usage is about")
	f.IntVar(&o.runs, "runs", o.runs, "how often to repeat latency and blocked")
	f.StringSliceVar(&o.scenarios, "scenarios", o.scenarios,
		"what to measure, of: all, release, "+strings.Join(names(), ", "))
	f.StringVarP(&o.output, "output", "o", o.output, "text, json or markdown")
	f.DurationVar(&o.timeout, "timeout", o.timeout, "how long to wait for any one change, and for a thousand of them")

	f.IntVar(&o.latencySamples, "latency-samples", o.latencySamples, "Usages in each run of latency and in strip")
	f.IntVar(&o.blockedSamples, "blocked-samples", o.blockedSamples, "deletions to try in a row, in each run of blocked")
	f.IntVar(&o.releaseSamples, "release-samples", o.releaseSamples, "releases of each way, plain, composed and replay")
	f.IntVar(&o.gcSamples, "gc-samples", o.gcSamples, "releases of what the garbage collector was refused, all at once")
	f.DurationVar(&o.throughput, "throughput-time", o.throughput, "how long to try deletions from many clients")
	f.IntVar(&o.clients, "clients", o.clients, "how many clients try deletions at once")
	f.DurationVar(&o.hold, "hold", o.hold, "how long to refuse the garbage collector before the release")
	f.StringVar(&o.stripAs, "strip-as", o.stripAs, "who takes labels away in the scenario strip, if not everybody may")
	f.DurationVar(&o.idle, "idle", o.idle, "how long to do nothing in the scenario idle")

	f.IntVar(&o.operatorPID, "operator-pid", o.operatorPID, "process of the implementation, for its CPU time and memory")
	f.IntVar(&o.apiServerPID, "apiserver-pid", o.apiServerPID, "process of the API server")
	f.IntVar(&o.etcdPID, "etcd-pid", o.etcdPID, "process of etcd")
	f.StringVar(&o.auditLog, "audit-log", o.auditLog, "the API server's audit log, to tell who sent which requests")

	f.BoolVar(&o.local, "local", o.local, "start a control plane and kinship on this machine, and measure that")
	f.BoolVar(&o.audit, "audit", o.audit, "with --local, have the API server write an audit log (costs it some CPU time)")
	f.StringVar(&o.operatorBin, "operator-bin", o.operatorBin, "with --local, the kinship to run")
	f.StringSliceVar(&o.operatorArgs, "operator-args", o.operatorArgs, "with --local, more arguments for it")
	f.StringVar(&o.dataDir, "data-dir", o.dataDir, "with --local, keep the control plane's files and logs here")
}

// complete checks the flags and expands names such as "release" to scenarios.
func (o *options) complete() error {
	var chosen []string
	for _, name := range o.scenarios {
		known := expand(name)
		if len(known) == 0 {
			return fmt.Errorf("there is no scenario %q; choose of all, release, %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, known...)
	}
	o.scenarios = chosen
	if !slices.Contains([]string{"text", "json", "markdown"}, o.output) {
		return fmt.Errorf("there is no output %q; choose of text, json, markdown", o.output)
	}
	counts := []int{
		o.n, o.runs, o.clients, o.latencySamples, o.blockedSamples, o.releaseSamples, o.gcSamples,
	}
	if slices.Min(counts) < 1 {
		return errors.New("counts must be at least 1")
	}
	if o.audit && !o.local {
		return errors.New("--audit needs --local; for a cluster of your own give --audit-log")
	}
	return nil
}

func (o *options) wants(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(o.scenarios, name) })
}

// patience returns how long to wait for a number of changes: options.timeout, and as much again for
// each 1,000 changes.
func (o *options) patience(changes int) time.Duration {
	return o.timeout * time.Duration(1+changes/1000)
}
