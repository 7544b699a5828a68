// Command kinship is the operator, the local control plane and the kubectl plugin in one
// binary. Under the name kubectl-kinship the command is the plugin.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kinship-dev/kinship/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, version, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
