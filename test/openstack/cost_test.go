package openstack_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const group = "openstack.k-orc.cloud"

// TestCost counts the calls and requests for networks and subnets, and that there are none
// afterwards.
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
	before, passed := testenv.Requests(t), passes(t)
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
	networks, subnets := spent.Of(group, "networks").Total()-n, spent.Of(group, "subnets").Total()-n // Without the requests of the test.
	t.Logf("created %d networks and as many subnets: %d calls of the cloud; writes:\n%s", n, calls, spent)
	if calls > 2*2*n {
		t.Errorf("%d calls of the cloud, at most two each", calls)
	}
	// The fourth write of a network is for the guard. A subnet may be reconciled before its
	// network, and then has two messages: the network is missing, and the network is not ready.
	if networks > 4*n || subnets > 4*n {
		t.Errorf("%d writes of networks, %d of subnets: at most 3 each, and a guard or a message", networks, subnets)
	}
	// Somebody else causes two passes over each object: the test creates a Network, and a Subnet adds its
	// guard; the test creates a Subnet, and the Network serves. A pass more is allowed for the object's
	// own work, one for the wait for a turn, since more objects come at once than may call the cloud, and one
	// where a subnet is reconciled before its network.
	now := passes(t)
	for _, kind := range []string{"network", "subnet"} {
		got := now[group+"/"+kind] - passed[group+"/"+kind]
		t.Logf("%g passes for %d objects of kind %s", got, n, kind)
		if got == 0 || got > 5*n {
			t.Errorf("%g passes for %d objects of kind %s, want at most 5 each", got, n, kind)
		}
	}
	w.cloud.ResetCalls()
	before = testenv.Requests(t)
	w.tidyUp()
	calls, spent = w.cloud.CallCount(""), applied(testenv.Requests(t).Since(before))
	said := func(r testenv.Request) bool { return r.Verb == "PATCH" }
	waits := spent.Where(said).Of(group, "networks").Total()
	networks, subnets = spent.Of(group, "networks").Total()-waits, spent.Of(group, "subnets").Total()
	t.Logf("deleted: %d calls of the cloud; writes:\n%s", calls, spent)
	if calls != 2*(n+1) {
		t.Errorf("%d calls of the cloud, one each", calls)
	}
	// A subnet loses its finalizer, a network that and its guard.
	if subnets != n+1 || networks != 2*(n+1) {
		t.Errorf("%d writes of networks, %d of subnets: two and one each", networks, subnets)
	}
	// A network waits for its subnet, and then for the guard, unless the guard is removed by
	// then.
	if waits > 2*(n+1) {
		t.Errorf("%d statuses of networks, at most two each", waits)
	}
}

// TestDeletedOnce requeues subnets while they are deleted, since their networks lose a guard:
// there is no further call for a resource that was just deleted.
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

// applied counts the writes of the operator and of the test, without the writes of the
// namespace controller for another test.
func applied(counts testenv.Counts) testenv.Counts {
	return counts.Where(func(r testenv.Request) bool {
		return r.Group == group && (r.Verb == "APPLY" || r.Verb == "PATCH")
	})
}

// TestWaitingCost: a thousand objects wait for one Secret: one write each, and nothing more
// until the Secret exists.
func TestWaitingCost(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	n := testenv.Many(1000)
	looked, failed := w.counted("network", "total"), w.counted("network", "errors_total")
	w.delete("Secret", "cloud")
	w.gone("Secret", "cloud")
	waiting := waitingFor("Secret/cloud to be created")
	w.apply(managed("Network", "first", "{}"))
	w.has("Network", "first", "Progressing", waiting) // The operator knows.
	before := testenv.Requests(t)
	var all []string
	for i := range n {
		all = append(all, managed("Network", fmt.Sprintf("net%d", i), "{}"))
	}
	w.apply(all...)
	w.allSay("Progressing", waiting, n+1)
	spent := func() int { return applied(testenv.Requests(t).Since(before)).Of(group, "networks").Total() - n }
	testenv.Eventually(t, func() error { // The API server counts a request a little after others see the object.
		if writes := spent(); writes != n {
			return fmt.Errorf("%d writes for %d that wait", writes, n)
		}
		return nil
	})
	reconciled := w.idle("network", 2*quiet) - looked
	if failed := w.counted("network", "errors_total") - failed; failed > 0 {
		t.Errorf("%g waits were taken for errors", failed)
	}
	if writes, calls := spent(), w.cloud.CallCount(""); writes != n || calls > 0 {
		t.Errorf("%d writes for %d that wait, %d calls of the cloud", writes, n, calls)
	}
	if reconciled < float64(n) {
		t.Errorf("%d were looked at %g times: that is not counted", n, reconciled)
	}
	w.create(w.secret("cloud", w.cloud.CloudsYAML()))
	w.allSay("Available", isAvailable, n+1)
}

// allSay waits until so many Networks have a condition.
func (w *world) allSay(condition string, expected want, n int) {
	w.t.Helper()
	testenv.EventuallyWithin(w.t, 2*time.Minute, func() error {
		var list openstackv1alpha1.NetworkList
		if err := w.c.List(w.t.Context(), &list, client.InNamespace(w.ns)); err != nil {
			return err
		}
		saying := 0
		for i := range list.Items {
			c := meta.FindStatusCondition(list.Items[i].Status.Conditions, condition)
			if c != nil && (want{string(c.Status), c.Reason, c.Message}) == expected {
				saying++
			}
		}
		if saying != n {
			return fmt.Errorf("%d of %d say %v", saying, n, expected)
		}
		return nil
	})
}

// counted returns how often a kind's objects were looked at, or in vain, by all operators
// of this process.
func (w *world) counted(kind, what string) float64 {
	w.t.Helper()
	return operator.Metrics(w.t, "controller_runtime_reconcile_"+what, "controller")[group+"/"+kind]
}

// idle waits until no object of a kind was looked at for so long, and returns how often
// any was so far. No timer that wakes objects may be shorter.
func (w *world) idle(kind string, long time.Duration) float64 {
	w.t.Helper()
	last, since := w.counted(kind, "total"), time.Now()
	testenv.Eventually(w.t, func() error {
		if now := w.counted(kind, "total"); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < long {
			return errors.New("objects are still looked at")
		}
		return nil
	})
	return last
}

// TestTogether: the cloud answers no call before all workers have sent one: this would never
// happen if they waited for one another.
func TestTogether(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	const workers = 8
	var all, names []string
	for _, resource := range []string{"networks", "subnets"} {
		w.cloud.AddFault(emulator.Fault{Service: "network", Method: "POST", Resource: resource, Together: workers})
	}
	for i := range workers {
		names = append(names, fmt.Sprintf("it%d", i))
		all = append(all, managed("Network", names[i], "{}"),
			managed("Subnet", names[i], fmt.Sprintf("{networkRef: it%d, ipVersion: 4, cidr: 10.0.0.0/24}", i)))
	}
	w.apply(all...)
	w.available("Subnet", names...)
}

// TestWoken: the watch requeues a Subnet when its Network is ready. While the cloud keeps the
// Network waiting, there is no pass of the Subnet for twice the allowed time, so no timer can
// requeue the Subnet within that time. The benchmark measures the real time.
func TestWoken(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	const soon = 2 * quiet // A few writes, on a machine that does much else.
	looked := w.counted("subnet", "total")
	creation := emulator.Call{Service: "network", Method: "POST", Resource: "networks"}
	w.cloud.AddFault(emulator.Fault{Service: creation.Service, Method: creation.Method, Resource: creation.Resource, Together: 2})
	w.apply(managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"), managed("Network", "net", "{}"))
	w.has("Subnet", "sub", "Progressing", waitingFor("Network/net to be ready"))
	waited := w.idle("subnet", 2*soon) - looked
	called := func() bool {
		creation.Resource = "subnets"
		return w.cloud.Calls()[creation] > 0
	}
	if waited == 0 || called() {
		t.Fatalf("looked at %g times; the cloud was called for the subnet: %t", waited, called())
	}
	changes, err := w.c.Watch(t.Context(), &openstackv1alpha1.NetworkList{}, client.InNamespace(w.ns))
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	w.apply(managed("Network", "other", "{}")) // This ends the wait of the first call.
	for event := range changes.ResultChan() {
		n, ok := event.Object.(*openstackv1alpha1.Network)
		if ok && n.Name == "net" && meta.IsStatusConditionTrue(n.Status.Conditions, "Available") {
			break
		}
	}
	ready := time.Now()
	testenv.Eventually(t, func() error {
		if !called() {
			return errors.New("the cloud is not called for the subnet")
		}
		return nil
	})
	if took := time.Since(ready); took > soon {
		t.Errorf("woken after %s, by a timer", took)
	}
	w.available("Subnet", "sub")
}

// passes returns how many passes over the objects of each kind the operator has begun.
func passes(t *testing.T) map[string]float64 {
	t.Helper()
	return operator.Metrics(t, "controller_runtime_reconcile_total", "controller")
}
