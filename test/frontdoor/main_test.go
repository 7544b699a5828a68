// Package frontdoor_test tests the commands around an installation: what they say of a cluster, and what they
// apply and remove.
package frontdoor_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks()) }

// options are the options of an installation of some packs, whose webhooks are outside of the cluster.
func options(t *testing.T, packs ...string) app.Options {
	t.Helper()
	return app.Options{
		Config: testenv.Config(t), Packs: packs, WebhookHost: "127.0.0.1", MetricsAddress: "0", HealthAddress: "0",
		Log: logr.Discard(),
	}
}

// uninstall removes everything.
func uninstall(t *testing.T) {
	t.Helper()
	u := app.UninstallOptions{WithObjects: true, Say: func(string, ...any) {}}
	if err := app.Uninstall(t.Context(), options(t), u); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
}

// kinship runs a command on the cluster and returns its exit code and output.
func kinship(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	args = append([]string{"kinship"}, args...)
	code = cli.Main(t.Context(), "dev", append(args, "--kubeconfig", testenv.Kubeconfig(t)), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}
