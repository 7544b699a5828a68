package iot_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// ledger lists what the operator sends, whatever it is, but for watches. The API server
// counts everybody's requests, and Kubernetes' own controllers send many of Deployments.
type ledger struct {
	mu   sync.Mutex
	sent []string
}

// kept has the operator's requests listed. It is its own account from the beginning: to
// become that, it would make connections of its own.
func (l *ledger) kept(t *testing.T) func(*app.Options) {
	t.Helper()
	config := testenv.As(t, app.Operator, "system:masters") // Who may install.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return listed{l, next} })
	return func(o *app.Options) { o.Config = config }
}

// listed lists requests.
type listed struct {
	*ledger

	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (l listed) RoundTrip(r *http.Request) (*http.Response, error) {
	if !r.URL.Query().Has("watch") {
		l.mu.Lock()
		l.sent = append(l.sent, r.Method+" "+r.URL.Path)
		l.mu.Unlock()
	}
	return l.next.RoundTrip(r)
}

// since returns what was sent after the first n requests.
func (l *ledger) since(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent[n:])
}

// about returns how many requests are about a resource, its status included.
func about(requests []string, resource string) int {
	n := 0
	for _, r := range requests {
		if strings.Contains(r+"/", "/"+resource+"/") {
			n++
		}
	}
	return n
}

// quiet is longer than anything that the pack puts off, but for reports of slow
// progress, of which there is none.
const quiet = 3 * time.Second

// TestCost counts what connectors cost the API server until they are settled, and
// from then on. Reads count too: what a cache knows nobody needs to ask for.
func TestCost(t *testing.T) {
	l := &ledger{}
	operator.Start(t, l.kept(t))
	w := newWorld(t)
	const n, each = 20, 4
	l.idle(t) // Tests before have left something to do.
	before, judged := len(l.since(0)), judgements(t)
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
	if got := judgements(t) - judged; got != n {
		t.Errorf("the webhook judged %d writes, want the %d creations: the operator asks itself", got, n)
	}
	sent := l.since(before)
	deployments, accounts := about(sent, "deployments"), about(sent, "serviceaccounts")
	connectors := about(sent, "iotconnectors")
	reviews := about(sent, "subjectaccessreviews")
	t.Logf("for %d connectors of %d deployments: %d requests, of which %d of Deployments, %d of ServiceAccounts, "+
		"%d of IotConnectors, %d questions of rights", n, each, len(sent), deployments, accounts, connectors, reviews)
	if deployments > n*each || accounts > n || connectors > 2*n+n/2 {
		t.Errorf("%d requests of %d Deployments and %d of %d ServiceAccounts, at most one each; "+
			"%d of %d connectors, at most 2 each and some reports", deployments, n*each, accounts, n, connectors, n)
	}
	l.idle(t)
}

// judgements returns how many writes the API server has asked the validating webhook about.
func judgements(t *testing.T) int {
	t.Helper()
	return int(operator.Metrics(t, "controller_runtime_webhook_requests_total", "webhook")["/validate-iotconnector/"])
}

// idle waits until the operator has sent nothing for a while.
func (l *ledger) idle(t *testing.T) {
	t.Helper()
	before, begin := len(l.since(0)), time.Now()
	testenv.Eventually(t, func() error {
		if sent := l.since(before); len(sent) > 0 {
			before, begin = before+len(sent), time.Now()
			return fmt.Errorf("not idle: %s", strings.Join(sent, "\n"))
		}
		if time.Since(begin) < quiet {
			return fmt.Errorf("idle for %s", time.Since(begin))
		}
		return nil
	})
}
