package iot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// cost counts the requests about IotConnectors and their composed objects, as the API server counts
// them. Only the operator uses server-side apply for Deployments and ServiceAccounts, and only
// the operator reads or patches IotConnectors while a test waits.
type cost struct{ deployments, accounts, connectors int }

func costSince(t *testing.T, before testenv.Counts) cost {
	t.Helper()
	all := testenv.Requests(t).Since(before)
	verb := func(c testenv.Counts, verbs ...string) int {
		return c.Where(func(r testenv.Request) bool { return slices.Contains(verbs, r.Verb) }).Total()
	}
	return cost{
		deployments: verb(all.Of("apps", "deployments"), "APPLY"),
		accounts:    verb(all.Of("", "serviceaccounts"), "APPLY"),
		connectors:  verb(all.Of(iotv1alpha1.GroupVersion.Group, "iotconnectors"), "PATCH", "PUT", "APPLY"),
	}
}

// quiet is longer than any deferral of the pack, except reports of slow progress, of which
// there are none.
const quiet = 3 * time.Second

// TestCost counts the requests for connectors until they are settled, and afterwards. Reads
// count too: an object in a cache need not be read.
func TestCost(t *testing.T) {
	operator.Start(t)
	w := newWorld(t)
	const n, each = 10, 4
	idle(t) // Earlier tests may have left work.
	before, judged, passed := testenv.Requests(t), judgements(t), passes(t)
	others := w.countChanges()
	all := make([]*iotv1alpha1.IotConnector, n)
	for i := range all {
		var entries []iotv1alpha1.Deployment
		for j := range each {
			entries = append(entries, entry(fmt.Sprintf("c%d-%d", i, j), "Storage"))
		}
		all[i] = w.version1(fmt.Sprintf("c%d", i), entries...)
		w.Create(all[i])
	}
	w.ready(all...)
	if got := judgements(t) - judged; got != n {
		t.Errorf("the webhook judged %d writes, want the %d creations: the operator asks itself", got, n)
	}
	idle(t)
	sent := costSince(t, before)
	t.Logf("%d IotConnectors of %d Deployments took %+v", n, each, sent)
	if sent.deployments > n*each || sent.accounts > n || sent.connectors > 2*n+n/2 {
		t.Errorf("%+v: want at most one write per Deployment and ServiceAccount, and 2.5 per IotConnector", sent)
	}
	if got, theirs := passes(t)-passed, n+others(); got > theirs+n {
		t.Errorf("%d passes for %d writes of other clients: want at most one more pass per IotConnector", got, theirs)
	} else {
		t.Logf("%d connectors took %d passes; others made %d writes", n, got, theirs)
	}
}

// writesSince counts the writes of all clients, and so all writes of the operator's accounts. Leases, tokens and
// reviews are left out: all components of Kubernetes write them all the time, and they change no other object.
func writesSince(t *testing.T, before testenv.Counts) testenv.Counts {
	t.Helper()
	return testenv.Requests(t).Since(before).Writes().Where(func(r testenv.Request) bool {
		return r.Resource != "leases" && r.Subresource != "token" && !strings.HasSuffix(r.Resource, "reviews")
	})
}

// TestRestartCost: an operator that starts beside settled IotConnectors writes nothing but the secret path of the
// webhooks, which is new at each start: one write of the Secret and one of each webhook configuration.
func TestRestartCost(t *testing.T) {
	first := operator.Start(t)
	w := newWorld(t)
	all := make([]*iotv1alpha1.IotConnector, 5)
	for i := range all {
		name := fmt.Sprint("c", i)
		all[i] = w.version1(name, entry(name+"-a", "Storage"), entry(name+"-b", "Storage"))
		w.Create(all[i])
	}
	w.ready(all...)
	idle(t)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	awaitNamespaces(t)
	before, passed := testenv.Requests(t), passes(t)
	// An installation applies ServiceAccounts of its own.
	operator.Start(t, func(o *options.Options) { o.Install, o.Adopt = false, false })
	testenv.Eventually(t, func() error {
		if n := passes(t) - passed; n < len(all) {
			return fmt.Errorf("%d passes, want one of each IotConnector at least", n)
		}
		return nil
	})
	idle(t)
	ofPath := func(r testenv.Request) bool {
		return r.Resource == "secrets" || strings.HasSuffix(r.Resource, "webhookconfigurations")
	}
	writes := writesSince(t, before)
	if other := writes.Where(func(r testenv.Request) bool { return !ofPath(r) }); other.Total() > 0 {
		t.Errorf("want no write but of the path, but there were:\n%s", other)
	}
	if own := writes.Where(ofPath); own.Total() > 3 {
		t.Errorf("the path took more than three writes:\n%s", own)
	}
	w.tidyUp(time.Minute) // While this operator runs.
}

// awaitNamespaces waits until the namespaces of earlier tests are gone: Kubernetes' namespace controller deletes
// the objects of all kinds in a namespace.
func awaitNamespaces(t *testing.T) {
	t.Helper()
	c := testenv.Client(t, scheme.Scheme)
	testenv.Eventually(t, func() error {
		var all corev1.NamespaceList
		if err := c.List(t.Context(), &all); err != nil {
			return err
		}
		for i := range all.Items {
			if ns := &all.Items[i]; ns.DeletionTimestamp != nil {
				return fmt.Errorf("namespace %s is being deleted", ns.Name)
			}
		}
		return nil
	})
}

// passes returns how many passes over IotConnectors the operator has begun.
func passes(t *testing.T) int {
	t.Helper()
	return int(operator.Metrics(t, "controller_runtime_reconcile_total", "controller")["iotconnector"])
}

// countChanges counts the changes of Deployments in the world's namespace, until the returned
// function is called. The operator creates new Deployments and changes none.
func (w *world) countChanges() func() int {
	w.T.Helper()
	events, err := w.C.Watch(w.T.Context(), &appsv1.DeploymentList{}, client.InNamespace(w.NS))
	if err != nil {
		w.T.Fatal(err)
	}
	changes := make(chan int)
	go func() {
		n := 0
		for e := range events.ResultChan() {
			if e.Type == watch.Modified {
				n++
			}
		}
		changes <- n
	}()
	return func() int {
		events.Stop()
		return <-changes
	}
}

// judgements returns how many writes the API server has asked the validating webhook about.
func judgements(t *testing.T) int {
	t.Helper()
	return int(operator.Metrics(t, "controller_runtime_webhook_requests_total", "webhook")["/validate-iotconnector/"])
}

// idle waits until the operator has sent no request for a while.
func idle(t *testing.T) {
	t.Helper()
	before, begin := testenv.Requests(t), time.Now()
	testenv.Eventually(t, func() error {
		if sent := costSince(t, before); sent != (cost{}) {
			before, begin = testenv.Requests(t), time.Now()
			return fmt.Errorf("not idle: %+v", sent)
		}
		if time.Since(begin) < quiet {
			return fmt.Errorf("idle for %s", time.Since(begin))
		}
		return nil
	})
}
