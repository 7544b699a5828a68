package incluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	helm "helm.sh/helm/v4/pkg/cmd"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/docs/pagetest"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// tutorialTime is the time that the tutorial promises.
const tutorialTime = 5 * time.Minute

// TestTutorial runs the commands of the tutorial, from an empty control plane to a refused deletion and back.
// The test plays the kubelet, because the control plane runs no containers.
func TestTutorial(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), tutorialTime)
	done := make(chan struct{})
	defer func() {
		cancel()
		<-done
	}()
	env := programs(t)
	cordon(t)
	k := startKubelet(ctx, t)
	go func() {
		defer close(done)
		t.Run("page", func(t *testing.T) { pagetest.Run(t, tutorialTime, "../..", "docs/tutorial.md", env...) })
	}()
	k.run(done)
}

// programVar is the environment variable that makes the test binary run as one of the programs of a page.
const programVar = "KINSHIP_TEST_PROGRAM"

// program runs the program that programVar names, and returns its exit code.
func program() int {
	ctx := context.Background()
	if os.Getenv(programVar) != "helm" {
		return cli.Main(ctx, "test", os.Args, os.Stdin, os.Stdout, os.Stderr)
	}
	root, err := helm.NewRootCmd(os.Stdout, os.Args[1:], func(bool) { slog.SetDefault(slog.New(slog.DiscardHandler)) })
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

// programs returns an environment with kubectl, and with helm and kinship, which are this test binary.
func programs(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"helm", "kinship", "kubectl-kinship"} {
		text := fmt.Sprintf("#!/bin/bash\n%s=%s exec -a %s '%s' \"$@\"\n", programVar, name, name, self)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"KUBECONFIG=" + testenv.Kubeconfig(t), "HOME=" + t.TempDir(), "NO_COLOR=1",
		"PATH=" + dir + ":" + testenv.Cluster(t).BinDir() + ":" + os.Getenv("PATH"),
	}
}
