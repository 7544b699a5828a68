package usage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// testCost counts the requests for one Usage until it is Ready.
func testCost(t *testing.T) {
	w := newWorld(t)
	w.alone()
	const n = 20
	w.create(configMap("warm-up"))
	first := protects("warm-up", named("warm-up"), "the kind is confirmed by now, the namespace held")
	w.create(first)
	w.ready(first)
	for i := range n {
		w.create(configMap(fmt.Sprintf("used%d", i)), configMap(fmt.Sprintf("using%d", i)))
	}
	w.awaitProcessed()
	before := time.Now()
	usages := make([]usage, n)
	for i := range usages {
		usages[i] = uses(fmt.Sprintf("u%d", i), named(fmt.Sprintf("using%d", i)), named(fmt.Sprintf("used%d", i)))
		w.create(usages[i])
	}
	w.ready(usages...)
	w.awaitProcessed() // By then, their other requests have been sent; the requests of one more Usage are counted too.
	all := sent.requests(after(before), func(r request) bool {
		// Other tests' namespaces go, or are at work, at the same time.
		of := strings.Contains(r.path, "/namespaces/") || about("subjectaccessreviews")(r)
		return !of || strings.Contains(r.path+r.body, w.NS)
	})
	writes := all.count(method("POST", "PUT", "PATCH", "DELETE"))
	t.Logf("%d requests, %d of them writes, for %d Usages", len(all), writes, n)
	if writes > 4*n {
		t.Errorf("%d writes for %d Usages, at most 4 each are allowed:\n%s", writes, n, all)
	}
	// An interrupted watch does not report a deletion, so one or two reads are allowed.
	if reads := sent.requests(after(before), about(w.NS), method("GET")); len(reads) > n/10 {
		t.Errorf("the operator read:\n%s", reads)
	}
	if reviews := all.count(about("subjectaccessreviews")); reviews > 6 {
		t.Errorf("%d access reviews for %d Usages of one author and kind", reviews, n)
	}
}

// testReleaseCost counts the requests for the end of one Usage. No client reads a using object
// whose deletion a watch has reported, nor an object that the operator itself has written.
func testReleaseCost(t *testing.T) {
	w := newWorld(t)
	w.alone()
	const n = 20
	used, using, usages := make([]client.Object, n), make([]client.Object, n), make([]usage, n)
	for i := range usages {
		used[i], using[i] = configMap(fmt.Sprintf("used%d", i)), configMap(fmt.Sprintf("using%d", i))
		w.create(used[i], using[i])
		usages[i] = uses(fmt.Sprintf("u%d", i), named(using[i].GetName()), named(fmt.Sprintf("used%d", i)))
		w.create(usages[i])
	}
	w.ready(usages...)
	w.awaitProcessed()
	asked := func() float64 {
		all := operator.Metrics(t, "controller_runtime_webhook_requests_total", "webhook")
		return all["/validate-usage/"] + all["/mutate-usage/"] + all["/validate-usage"] + all["/mutate-usage"]
	}
	before, answered := time.Now(), asked()
	w.Delete(using...)
	for i, u := range usages {
		w.Gone(u)
		w.free(used[i])
	}
	w.idle()
	all := sent.requests(after(before), about(w.NS)).brief()
	t.Logf("%d requests for %d Usages", len(all), n)
	if len(all) > 4*n+n/10 {
		t.Errorf("%d requests for the end of %d Usages, at most 4 each are allowed:\n%s", len(all), n, all)
	}
	// An interrupted watch does not report a deletion, so one or two reads are allowed.
	if reads := sent.requests(after(before), about(w.NS), method("GET")); len(reads) > n/10 {
		t.Errorf("the operator read:\n%s", reads)
	}
	if more := asked() - answered; more >= n { // Other tests end meanwhile. The operator writes each Usage.
		t.Errorf("the operator was asked %g times about what it writes itself", more)
	}
}

// brief returns requests without their bodies.
func (rs requests) brief() requests {
	for i := range rs {
		rs[i].body = ""
	}
	return rs
}

// count returns how many requests match.
func (rs requests) count(matches func(request) bool) int {
	n := 0
	for _, r := range rs {
		if matches(r) {
			n++
		}
	}
	return n
}

// quiet is longer than anything that the operator puts off: the trimming of
// rules and the end of informers, five seconds each.
const quiet = 6 * time.Second

// testIdle: when nothing happens the operator asks for nothing.
func testIdle(t *testing.T) {
	w := newWorld(t)
	const n = 20
	usages := make([]usage, n)
	for i := range usages {
		w.create(configMap(fmt.Sprintf("used%d", i)), configMap(fmt.Sprintf("using%d", i)))
		usages[i] = uses(fmt.Sprintf("u%d", i), named(fmt.Sprintf("using%d", i)), named(fmt.Sprintf("used%d", i)))
		w.create(usages[i])
	}
	w.ready(usages...)
	testenv.Eventually(t, func() error {
		all := sent.requests()
		if last := all[len(all)-1]; time.Since(last.at) < quiet {
			return fmt.Errorf("the last request is %s old: %s", time.Since(last.at), requests{last})
		}
		return nil
	})
	if reads := testenv.Requests(t).Of("protection.crossplane.io", "usages"); reads.Total() == 0 {
		t.Error("the API server counts no requests at all")
	}
}
