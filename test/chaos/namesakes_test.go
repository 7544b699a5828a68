package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestHostileNamesakes is what a seed of TestHostile found, in a fixed order. The tenant strips
// the finalizers of Router o-0, whose resource stays in his cloud, and creates Router o-0 again.
// The answer to the creation is lost, so that the new Router can't tell which of two resources is
// its own. The Router waits, and is deleted after an administrator has removed the resources.
func TestHostileNamesakes(t *testing.T) {
	operator.Exec(t, hostileArgs...)
	random := rand.New(rand.NewPCG(1, 1))
	m := newTenant(t, random, newEvilCloud(t, 1, func() []string { return nil }), "default")
	router := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "Router"})
		u.SetNamespace(m.ns)
		u.SetName("o-0")
		u.Object["spec"] = m.spec(u, "{resource: {}}")
		return u
	}
	says := func(text string) {
		t.Helper()
		testenv.Eventually(t, func() error {
			u := router()
			if err := m.admin.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
				return err
			}
			if got := fmt.Sprint(u.Object["status"]); !strings.Contains(got, text) {
				return fmt.Errorf("the status of Router o-0 is %s, want %s", got, text)
			}
			return nil
		})
	}
	if err := m.c.Create(t.Context(), router()); err != nil {
		t.Fatal(err)
	}
	says("OpenStack resource is available")
	m.cloud.good.AddFault(emulator.Fault{
		Service: "network", Method: http.MethodDelete, Status: http.StatusServiceUnavailable, Times: -1,
	})
	if err := m.c.Delete(t.Context(), router()); err != nil {
		t.Fatal(err)
	}
	strip := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := m.c.Patch(t.Context(), router(), strip); err != nil {
		t.Fatal(err)
	}
	// The former Router stays in the cloud: a DELETE that the operator sent before may be on its way.
	m.cloud.good.AddFault(emulator.Fault{Method: http.MethodPost, Resource: "routers", Reset: emulator.AfterExecution})
	testenv.Eventually(t, func() error { return m.c.Create(t.Context(), router()) })
	says("found more than one matching OpenStack resource during adoption")
	m.cloud.good.ClearFaults()
	m.leave()
}
