package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "time/tzdata" // CronJobs name time zones, and a bare machine may have none.

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's credential plugins.
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build info metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// programs are the names this binary answers to. kwok.go adds kwok.
var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { run(apiserver.NewAPIServerCommand) },
	"kube-controller-manager": func() { run(controllermanager.NewControllerManagerCommand) },
	"kube-scheduler":          func() { run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }) },
	"kubectl":                 runKubectl,
}

func main() {
	name := filepath.Base(os.Args[0])
	program, ok := programs[name]
	if !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		program, ok = programs[os.Args[0]]
	}
	if !ok {
		names := make([]string, 0, len(programs))
		for n := range programs {
			names = append(names, n)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: localcluster PROGRAM [flags], or call it by a program's name: %s\n",
			strings.Join(names, ", "))
		os.Exit(2)
	}
	if err := watchLifeline(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	program()
}

func run(command func() *cobra.Command) { os.Exit(cli.Run(command())) }

func runKubectl() {
	// kubectl builds its command tree before flags are parsed and logs while doing so.
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
