//go:build !nokwok

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// The build of Kubernetes 1.35 has no kwok, which needs the libraries of 1.36. kwok itself works with both.
func init() {
	programs["kwok"], programs["kwok-stages"] = runKwok, printStages
}

// runKwok plays the kubelets. kwok reads --config before its own command line is
// parsed, hence the flag set that ignores what it does not know.
func runKwok() {
	// Kubernetes registers its own --version for the whole process, which cobra
	// hands to every command and kwok's can't read.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags := pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}

	ctx, logger := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		logger.Error("Read the configuration", "err", err)
		os.Exit(1)
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("Run kwok", "err", err)
		os.Exit(1)
	}
}

// printStages prints the stages that kwok does nothing without: they make nodes
// ready and pods run, complete and go.
func printStages() {
	fmt.Println(strings.Join([]string{
		nodefast.DefaultNodeInit,
		podfast.DefaultPodReady,
		podfast.DefaultPodComplete,
		podfast.DefaultPodDelete,
	}, "\n---\n"))
}
