package openstack_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestClosed (row 7 of issue 15): no Secret makes the operator call its own machine, the
// cluster's Services, or ranges that the administrator has closed.
func TestClosed(t *testing.T) {
	operator.Start(t, only, func(o *options.Options) {
		o.Openstack.Open = nil
		o.Openstack.Closed = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
	})
	w := newWorld(t)
	for name, host := range map[string]string{
		"service": w.serviceAddress(), "pod": "10.244.1.1", "self": "127.0.0.1", "by-name": "localhost",
	} {
		w.refusesToCall(name, host)
	}
}

// TestPodRangesAreClosed (row 7 of issue 15): the ranges in spec.podCIDRs of Nodes are closed
// by default. The ranges of a Node are closed when the Node is created, and open when the Node is
// deleted.
func TestPodRangesAreClosed(t *testing.T) {
	createNode(t, "early", "192.0.2.0/25")
	operator.Start(t, only, func(o *options.Options) { o.Openstack.Open = nil })
	w := newWorld(t)
	w.refusesToCall("early-pod", "192.0.2.9")
	createNode(t, "late", "198.51.100.0/24", "2001:db8:7::/64")
	w.refusesToCall("late-pod", "198.51.100.3")
	w.refusesToCall("late-pod-of-ipv6", "[2001:db8:7::9]")
	deleteNode(t, "late")
	w.callsHost("late-pod")
	w.refusesToCall("early-pod-still", "192.0.2.9")
}

// TestPodRangesWithoutRight: without the right to list Nodes, the pack works, the log says that
// the ranges of Pods are not known, and the ranges are closed as soon as the right is given back.
func TestPodRangesWithoutRight(t *testing.T) {
	createNode(t, "hidden", "192.0.2.0/25")
	if err := operator.Start(t, only).Stop(); err != nil {
		t.Fatal(err)
	}
	role, c := &rbacv1.ClusterRole{}, operator.Client(t)
	if err := c.Get(t.Context(), client.ObjectKey{Name: options.AccountOf("openstack")}, role); err != nil {
		t.Fatal(err)
	}
	before := role.DeepCopy()
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "nodes") })
	nodes := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}
	changeRights := func(to []rbacv1.PolicyRule, want bool) {
		testenv.Eventually(t, func() error {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(role), role); err != nil {
				return err
			}
			role.Rules = to
			return c.Update(t.Context(), role)
		})
		testenv.AwaitRights(t, options.OperatorOf("openstack"), "", want, nodes)
	}
	changeRights(role.Rules, false)
	o := operator.Start(t, only, func(o *options.Options) { o.Install, o.Adopt = false, false })
	w := newWorld(t)
	w.apply(managed("Network", "works", "{}"))
	w.available("Network", "works")
	if want := "The ranges of Pods are not known"; !strings.Contains(o.Log(), want) {
		t.Errorf("the log does not say %q", want)
	}
	changeRights(before.Rules, true)
	w.refusesToCall("hidden-pod", "192.0.2.9")
}

// TestPodRangesOfNamespaces: Nodes are in no namespace, and their ranges are closed with
// --namespaces too.
func TestPodRangesOfNamespaces(t *testing.T) {
	createNode(t, "early", "192.0.2.0/25")
	w := newWorld(t)
	operator.Start(t, only, func(o *options.Options) { o.Openstack.Open, o.Namespaces = nil, []string{w.ns} })
	w.refusesToCall("early-pod", "192.0.2.9")
	createNode(t, "late", "198.51.100.0/24")
	w.refusesToCall("late-pod", "198.51.100.3")
}

// callsHost waits until the operator calls the host of a Network that refusesToCall created. A refused
// Network is tried again when its spec changes.
func (w *world) callsHost(name string) {
	w.t.Helper()
	try := 0
	testenv.Eventually(w.t, func() error {
		progressing, _ := find(w.get("Network", name), "Progressing")
		// The dial fails in one way or another: no route, or no answer in time.
		if progressing.reason == "TransientError" && !strings.Contains(progressing.message, "is not called") {
			return nil
		}
		try++
		w.edit("Network", name, fmt.Sprintf(`{"spec":{"resource":{"description":"try %d"}}}`, try))
		return fmt.Errorf("the host of Network %s is not called: %q", name, progressing.message)
	})
}

// createNode creates a Node with ranges of Pods.
func createNode(t *testing.T, name string, ranges ...string) {
	t.Helper()
	n, c := &corev1.Node{}, operator.Client(t)
	n.Name, n.Spec.PodCIDRs, n.Spec.PodCIDR = name, ranges, ranges[0]
	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNode(t, name) })
}

func deleteNode(t *testing.T, name string) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := operator.Client(t).Delete(context.WithoutCancel(t.Context()), n); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// refusesToCall creates a Network whose Secret names a host that the operator must not call.
func (w *world) refusesToCall(name, host string) {
	w.t.Helper()
	text := fmt.Sprintf("clouds: {openstack-admin: {auth: {auth_url: 'http://%s:81/v3', username: u, password: p}}}", host)
	w.create(w.secret(name, text))
	w.apply(strings.Replace(managed("Network", name, "{}"), "secretName: cloud,", "secretName: "+name+",", 1))
	w.fails("Network", name, "InvalidConfiguration")
	if progressing, _ := find(w.get("Network", name), "Progressing"); !strings.Contains(progressing.message, "is not called") {
		w.t.Errorf("%s: %q", name, progressing.message)
	}
}

// serviceAddress returns the address of the API server's own Service.
func (w *world) serviceAddress() string {
	w.t.Helper()
	var service corev1.Service
	if err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &service); err != nil {
		w.t.Fatal(err)
	}
	return service.Spec.ClusterIP
}
