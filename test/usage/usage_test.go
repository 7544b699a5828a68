package usage_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const (
	// grace is the operator's grace period. A deletionTimestamp has no fractions, so the
	// remaining time is up to a second less.
	grace = 3 * time.Second
	// longGrace is the grace period of rows with more steps before its end, on a busy machine.
	longGrace = 10 * time.Second
	// expiry is how long the operator remembers a refused deletion.
	expiry = time.Hour
	// promptly limits the time for effects of a watch, on a busy machine. Repeated reads of
	// Kubernetes, and of the operator for silent groups, take 30 s; the benchmark shows the
	// real times of watches.
	promptly = 15 * time.Second
)

func TestMain(m *testing.M) {
	operator.Packs("usage")
	flag.Parse()
	// These tests mostly wait for an API server, and compute little.
	if err := flag.Set("test.parallel", "8"); err != nil {
		os.Exit(2)
	}
	crds := testenv.GroupCRDs("../../config/crd", "apiextensions.crossplane.io", "protection.crossplane.io", "kinship.dev")
	testenv.Main(m, crds, testenv.KeepNamespaces(), testenv.CheckLeaks())
}

// row is one promise with its test.
type row struct {
	name string
	test func(*testing.T)
}

// TestUsage is the table of specs/usage.md.
func TestUsage(t *testing.T) {
	start(t)
	for _, r := range quietRows {
		t.Run(r.name, r.test)
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.test(t)
		})
	}
}

// TestGrace is that part of the table which has to happen within the grace period.
func TestGrace(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Usage.GracePeriod = longGrace })
	for _, r := range patientRows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.test(t)
		})
	}
}

// sent is the proxy in front of the API server that the operator of TestUsage
// goes through.
var sent *proxy

func start(t *testing.T) {
	t.Helper()
	sent = newProxy(t)
	operator.Start(t, func(o *options.Options) {
		o.Config = sent.config()
		o.Usage.GracePeriod, o.Usage.ReplayExpiry = grace, expiry
	})
}
