package openstack_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestClosed (row 7 of issue 15): no Secret makes the operator call its own machine, the
// cluster's Services, or ranges that the administrator has closed.
func TestClosed(t *testing.T) {
	operator.Start(t, only, func(o *app.Options) {
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
// by default, including Nodes that are added later.
func TestPodRangesAreClosed(t *testing.T) {
	createNode(t, "early", "192.0.2.0/25")
	operator.Start(t, only, func(o *app.Options) { o.Openstack.Open = nil })
	w := newWorld(t)
	w.refusesToCall("early-pod", "192.0.2.9")
	createNode(t, "late", "198.51.100.0/24", "2001:db8:7::/64")
	w.refusesToCall("late-pod", "198.51.100.3")
	w.refusesToCall("late-pod-of-ipv6", "[2001:db8:7::9]")
}

// createNode creates a Node with ranges of Pods.
func createNode(t *testing.T, name string, ranges ...string) {
	t.Helper()
	n, c := &corev1.Node{}, operator.Client(t)
	n.Name, n.Spec.PodCIDRs, n.Spec.PodCIDR = name, ranges, ranges[0]
	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), n); err != nil {
			t.Error(err)
		}
	})
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
