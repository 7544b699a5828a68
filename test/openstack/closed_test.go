package openstack_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestClosed (row 7 of issue 15): no Secret has the operator call what is around it: its own
// machine, the cluster's Services, and what the administrator has closed.
func TestClosed(t *testing.T) {
	operator.Start(t, only, func(o *app.Options) {
		o.Openstack.Open = nil
		o.Openstack.Closed = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
	})
	w := newWorld(t)
	for name, host := range map[string]string{
		"service": w.serviceAddress(), "pod": "10.244.1.1", "self": "127.0.0.1", "by-name": "localhost",
	} {
		text := fmt.Sprintf("clouds: {openstack-admin: {auth: {auth_url: 'http://%s:81/v3', username: u, password: p}}}", host)
		w.create(w.secret(name, text))
		w.apply(strings.Replace(managed("Network", name, "{}"), "secretName: cloud,", "secretName: "+name+",", 1))
		w.fails("Network", name, "InvalidConfiguration")
		if progressing, _ := find(w.get("Network", name), "Progressing"); !strings.Contains(progressing.message, "is not called") {
			t.Errorf("%s: %q", name, progressing.message)
		}
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
