package security_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestStatusesAreTheOperators has a tenant with all rights in his namespace write into the
// status of an OpenStack object: the id of somebody else's resource, say.
func TestStatusesAreTheOperators(t *testing.T) {
	o := operator.Start(t, everyPack)
	l := newLand(t)
	tenant := l.user("tenant")
	l.allow(tenant, right("*", "*", "*"))
	l.network("it")
	testenv.Eventually(t, func() error { return l.observed("Network", "it") })
	if err := o.Stop(); err != nil { // Nobody else writes now.
		t.Fatal(err)
	}
	forged := client.RawPatch(types.MergePatchType, []byte(`{"status":{"id":"forged"}}`))
	network := &unstructured.Unstructured{}
	network.SetGroupVersionKind(openstackv1alpha1.GroupVersion.WithKind("Network"))
	network.SetNamespace(l.ns)
	network.SetName("it")
	err := l.as(tenant).Status().Patch(t.Context(), network, forged)
	if err == nil || !strings.Contains(err.Error(), "only Kinship may write this status") {
		t.Errorf("a tenant writes a status: %v", err)
	}
	if err := l.c.Status().Patch(t.Context(), network, forged, client.DryRunAll); err != nil {
		t.Errorf("an administrator of the cluster may not correct a status: %v", err)
	}
	l.delete(l.networkNamed("it"))
}
