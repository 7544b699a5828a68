// Package frontdoor_test tests the commands around an installation: what they say of a cluster, and what they
// apply and remove.
package frontdoor_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
)

// noTime is the present of examinations that judge no certificate.
var noTime = time.Now()

// contextOf returns a context for the cleanup of a test.
func contextOf(t *testing.T) context.Context {
	t.Helper()
	return context.WithoutCancel(t.Context())
}

func TestMain(m *testing.M) { testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks()) }

// options are the options of an installation of some packs, whose webhooks are outside of the cluster.
func optionsFor(t *testing.T, packs ...string) options.Options {
	t.Helper()
	return options.Options{
		Config: testenv.Config(t), Packs: packs, WebhookHost: "127.0.0.1", MetricsAddress: "0", HealthAddress: "0",
		Log: logr.Discard(),
	}
}

// uninstall removes everything.
func removeAll(t *testing.T) {
	t.Helper()
	u := uninstall.Options{WithObjects: true, Say: func(string, ...any) {}}
	if err := uninstall.Uninstall(t.Context(), optionsFor(t), u); err != nil {
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

// offline runs a command without a kubeconfig.
func offline(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Main(t.Context(), "dev", append([]string{"kinship"}, args...), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}
