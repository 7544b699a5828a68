package openstack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const group = "openstack.k-orc.cloud"

// TestCost counts what networks and subnets cost the cloud and the API server, and
// that they cost nothing from then on.
func TestCost(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	const n = 40
	w.apply(managed("Network", "first", "{}")) // Logs in, and puts the guard on the Secret.
	w.available("Network", "first")
	w.apply(managed("Subnet", "first", "{networkRef: first, ipVersion: 4, cidr: 10.0.0.0/24}"))
	w.available("Subnet", "first")
	w.settles()
	w.cloud.ResetCalls()
	before := testenv.Requests(t)
	var all []string
	for i := range n {
		all = append(all, managed("Network", fmt.Sprintf("net%d", i), "{}"),
			managed("Subnet", fmt.Sprintf("sub%d", i), fmt.Sprintf("{networkRef: net%d, ipVersion: 4, cidr: 10.0.0.0/24}", i)))
	}
	w.apply(all...)
	for i := range n {
		w.available("Subnet", fmt.Sprintf("sub%d", i))
	}
	w.settles()
	calls, spent := w.cloud.CallCount(""), applied(testenv.Requests(t).Since(before))
	networks, subnets := spent.Of(group, "networks").Total()-n, spent.Of(group, "subnets").Total()-n // Less those of the test.
	t.Logf("created %d networks and as many subnets: %d calls of the cloud; writes:\n%s", n, calls, spent)
	if calls > 2*2*n {
		t.Errorf("%d calls of the cloud, at most two each", calls)
	}
	// A network's fourth is for the guard. A subnet may be seen before its network,
	// and tells of both: that it is missing, and that it is not ready.
	if networks > 4*n || subnets > 3*n+n/4 {
		t.Errorf("%d writes of networks, %d of subnets: at most 3 each, and a guard", networks, subnets)
	}
	w.cloud.ResetCalls()
	before = testenv.Requests(t)
	w.tidyUp()
	calls, spent = w.cloud.CallCount(""), testenv.Requests(t).Since(before).Writes()
	t.Logf("deleted: %d calls of the cloud; writes:\n%s", calls, spent)
	if calls != 2*(n+1) {
		t.Errorf("%d calls of the cloud, one each", calls)
	}
}

// TestDeletedOnce wakes subnets while they are deleted, since their networks lose a
// guard: the cloud is not asked once more for what it has just deleted.
func TestDeletedOnce(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	const n = 8 // As many as are worked on at once.
	for i := range n {
		net := fmt.Sprintf("net%d", i)
		w.apply(managed("Network", net, "{}"), managed("Port", net, fmt.Sprintf("{networkRef: %s}", net)),
			managed("Subnet", net, fmt.Sprintf("{networkRef: %s, ipVersion: 4, cidr: 10.0.0.0/24}", net)))
	}
	for i := range n {
		w.available("Subnet", fmt.Sprintf("net%d", i))
		w.available("Port", fmt.Sprintf("net%d", i))
	}
	deletion := emulator.Call{Service: "network", Method: "DELETE", Resource: "subnets"}
	w.cloud.AddFault(emulator.Fault{Method: deletion.Method, Resource: deletion.Resource, Times: -1, Delay: time.Second})
	w.cloud.ResetCalls()
	for i := range n {
		w.delete("Subnet", fmt.Sprintf("net%d", i))
	}
	testenv.Eventually(t, func() error {
		if begun := w.cloud.Calls()[deletion]; begun < n {
			return fmt.Errorf("%d deletions of %d", begun, n)
		}
		return nil
	})
	for i := range n {
		w.delete("Port", fmt.Sprintf("net%d", i))
	}
	for i := range n {
		w.gone("Subnet", fmt.Sprintf("net%d", i))
	}
	w.settles()
	if calls := w.cloud.Calls()[deletion]; calls != n {
		t.Errorf("%d deletions of %d subnets", calls, n)
	}
}

// applied counts what the operator and the test write: not what the namespace
// controller does where another test ends.
func applied(counts testenv.Counts) testenv.Counts {
	return counts.Where(func(r testenv.Request) bool {
		return r.Group == group && (r.Verb == "APPLY" || r.Verb == "PATCH")
	})
}

// TestWaitingCost has many wait for one Secret.
func TestWaitingCost(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	const n = 200
	w.delete("Secret", "cloud")
	w.gone("Secret", "cloud")
	w.apply(managed("Network", "first", "{}"))
	w.has("Network", "first", "Progressing", waitingFor("Secret/cloud to be created")) // The operator knows.
	before := testenv.Requests(t)
	var all []string
	for i := range n {
		all = append(all, managed("Network", fmt.Sprintf("net%d", i), "{}"))
	}
	w.apply(all...)
	for i := range n {
		w.has("Network", fmt.Sprintf("net%d", i), "Progressing", waitingFor("Secret/cloud to be created"))
	}
	w.settles()
	if writes := applied(testenv.Requests(t).Since(before)).Of(group, "networks").Total() - n; writes > n {
		t.Errorf("%d writes for %d that wait", writes, n)
	}
	if calls := w.cloud.CallCount(""); calls > 0 {
		t.Errorf("%d calls of the cloud", calls)
	}
	w.create(w.secret("cloud", w.cloud.CloudsYAML()))
	for i := range n {
		w.available("Network", fmt.Sprintf("net%d", i))
	}
}

// TestMakespan is for clouds that take their time.
func TestMakespan(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	w.cloud.SetLatency(200 * time.Millisecond)
	const n = 40
	var all []string
	for i := range n {
		all = append(all, managed("Subnet", fmt.Sprintf("sub%d", i), fmt.Sprintf("{networkRef: net%d, ipVersion: 4, cidr: 10.0.0.0/24}", i)),
			managed("Network", fmt.Sprintf("net%d", i), "{}"))
	}
	start := time.Now()
	w.apply(all...)
	for i := range n {
		w.available("Subnet", fmt.Sprintf("sub%d", i))
	}
	took := time.Since(start)
	w.cloud.SetLatency(0)
	t.Logf("%d networks and as many subnets at 200 ms: %s", n, took)
}

// TestKilled kills the operator at every step of creation and deletion, as SIGKILL
// does, and begins with another. Nothing is made twice, and nothing is left.
func TestKilled(t *testing.T) {
	o := operator.Exec(t, "--packs", "openstack")
	w := newWorld(t)
	restart := func(before, calls int) {
		w.after(before + calls)
		o.Kill()
		o = operator.Exec(t, "--packs", "openstack")
	}
	w.cloud.SetLatency(20 * time.Millisecond) // So that a call is under way at most times.
	for calls := range 8 {
		before := w.cloud.CallCount("network")
		w.apply(stack...)
		restart(before, calls)
		w.available("FloatingIP", "fip")
		w.available("Port", "port")
		before = w.cloud.CallCount("network")
		for _, obj := range w.all() {
			if err := w.c.Delete(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		restart(before, calls)
		w.tidyUp()
		w.empty()
		if t.Failed() {
			t.Fatalf("killed after %d calls", calls)
		}
	}
}

// after waits until the cloud has got some calls in all.
func (w *world) after(calls int) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if now := w.cloud.CallCount("network"); now < calls {
			return fmt.Errorf("%d calls of %d", now, calls)
		}
		return nil
	})
}
