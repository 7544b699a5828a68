package iot_test

import (
	"fmt"
	"testing"
	"time"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// ours counts the requests that only the operator, or the test, sends: of the
// writes of Deployments, Kubernetes' own controllers send none of these.
func ours(counts testenv.Counts) testenv.Counts {
	return counts.Where(func(r testenv.Request) bool {
		switch r.Resource {
		case "iotconnectors", "iotconnectorreleases":
			return true
		case "serviceaccounts":
			return r.Verb == "APPLY" || r.Verb == "DELETE"
		case "deployments":
			return r.Subresource == "" && (r.Verb == "APPLY" || r.Verb == "POST" || r.Verb == "DELETE" || r.Verb == "LIST")
		default:
			return false
		}
	})
}

// quiet is longer than anything that the pack puts off, but for reports of slow
// progress, of which there is none.
const quiet = 3 * time.Second

// TestCost counts what connectors cost the API server until they are settled, and
// from then on.
func TestCost(t *testing.T) {
	operator.Start(t)
	w := newWorld(t)
	const n, each = 20, 4
	before := testenv.Requests(t)
	all := make([]*iotv1alpha1.IotConnector, n)
	for i := range all {
		var entries []iotv1alpha1.Deployment
		for j := range each {
			entries = append(entries, entry(fmt.Sprintf("c%d-%d", i, j), "Storage"))
		}
		all[i] = w.version1(fmt.Sprintf("c%d", i), entries...)
		w.create(all[i])
	}
	w.ready(all...)
	spent := ours(testenv.Requests(t).Since(before)).Writes()
	deployments := spent.Of("apps", "deployments").Total()
	connectors := spent.Total() - deployments - n // The test has created them.
	t.Logf("for %d connectors of %d deployments:\n%s", n, each, spent)
	if deployments > 2*n*each || connectors > 5*n {
		t.Errorf("%d writes for %d Deployments, at most 2 each; %d for %d connectors, at most 5 each",
			deployments, n*each, connectors, n)
	}
	before, since := testenv.Requests(t), time.Now()
	testenv.Eventually(t, func() error {
		now := testenv.Requests(t)
		if sent := ours(now.Since(before)); sent.Total() > 0 {
			before, since = now, time.Now()
			return fmt.Errorf("not idle: %s", sent)
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("idle for %s", time.Since(since))
		}
		return nil
	})
}
