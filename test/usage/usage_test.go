package usage_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const (
	// grace is the operator's grace period. A deletionTimestamp has no fractions, so
	// what is left of it is up to a second less.
	grace = 3 * time.Second
	// longGrace is that of rows which have something to do before it is over, on a busy
	// machine.
	longGrace = 10 * time.Second
	// expiry is how long the operator remembers a refused deletion.
	expiry = time.Hour
	// promptly bounds what a watch brings about, on a busy machine. What Kubernetes
	// reads again by itself, and the operator of groups that are silent, takes 30 s; what
	// a watch really takes, the benchmark tells.
	promptly = 15 * time.Second
)

func TestMain(m *testing.M) {
	operator.Packs("usage")
	flag.Parse()
	// These tests wait for an API server more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		os.Exit(2)
	}
	testenv.Main(m, testenv.CRDs("../../config/crd"), testenv.CheckLeaks())
}

// row is one promise and the test of it.
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
	operator.Start(t, func(o *app.Options) { o.Usage.GracePeriod = longGrace })
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
	operator.Start(t, func(o *app.Options) {
		o.Config = sent.config()
		o.Usage.GracePeriod, o.Usage.ReplayExpiry = grace, expiry
	})
}
