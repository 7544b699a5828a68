package security_test

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// everyPack has the operator run all packs.
func everyPack(o *options.Options) { o.Packs = options.PackNames() }

// TestUnreadable shows that an object which the API server stores and Go can't read stops
// neither the other objects of its kind nor anything else, also when the operator starts
// beside it.
func TestUnreadable(t *testing.T) {
	first := operator.Start(t, everyPack)
	l := newLand(t)
	l.acceptAnyTime("networks.openstack.k-orc.cloud", "usages.protection.crossplane.io")
	for _, name := range []string{"odd", "fine"} {
		l.network(name)
	}
	l.Create(l.configMap("used"), l.secret("using"))
	u := l.usage("usage")
	l.Create(u)
	testenv.Eventually(t, func() error { return l.isReady(u) })

	l.spoil("Network", "odd", `{"lastSyncTime":"2030-01-01t00:00:00z"}`)
	logged(t, first, "name=odd")
	l.reconciles("fine", "first")

	// The Usage that can't be read any more protects as it did.
	l.spoil("Usage", "usage", `{"conditions":[{"type":"Ready","status":"True","reason":"R","message":"",`+
		`"lastTransitionTime":"2030-01-01t00:00:00z"}]}`)
	logged(t, first, "name=usage")
	l.protected()
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}

	second := operator.Start(t, everyPack)
	logged(t, second, "name=odd")
	logged(t, second, "name=usage")
	l.reconciles("fine", "second")
	l.protected()
	failing := operator.Metrics(t, "kinship_watch_unreadable_objects", "kind")
	if failing["Network"] != 1 || failing["Usage"] != 1 {
		t.Errorf("unreadable objects by kind: %v", failing)
	}

	l.spoil("Network", "odd", `{"lastSyncTime":"2030-01-01T00:00:00Z"}`)
	l.reconciles("odd", "again")
	l.spoil("Usage", "usage", `{"conditions":null}`)
	testenv.Eventually(t, func() error { return l.isReady(u) })
	for _, name := range []string{"odd", "fine"} {
		l.Delete(l.networkNamed(name))
	}
	l.Delete(l.secret("using"), u)
}

// acceptAnyTime removes from definitions the pattern that keeps out times which Go can't
// read, as an older release's definitions had none. The next installation restores them.
func (l land) acceptAnyTime(names ...string) {
	l.T.Helper()
	for _, name := range names {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := l.C.Get(l.T.Context(), types.NamespacedName{Name: name}, &crd); err != nil {
			l.T.Fatal(err)
		}
		for i := range crd.Spec.Versions {
			withoutPatterns(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
		if err := l.C.Update(l.T.Context(), &crd); err != nil {
			l.T.Fatal(err)
		}
	}
}

// withoutPatterns removes the patterns of all times in a schema.
func withoutPatterns(s *apiextensionsv1.JSONSchemaProps) {
	if s.Format == "date-time" {
		s.Pattern = ""
	}
	for name, p := range s.Properties {
		withoutPatterns(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		withoutPatterns(s.Items.Schema)
	}
}

func (l land) networkNamed(name string) *openstackv1alpha1.Network {
	return &openstackv1alpha1.Network{ObjectMeta: l.named(name)}
}

// network creates a Network that waits for its Secret.
func (l land) network(name string) {
	l.T.Helper()
	testenv.Apply(l.T, fmt.Sprintf(`
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata: {name: %s}
spec: {cloudCredentialsRef: {secretName: missing, cloudName: c}, resource: {}}
`, name), testenv.In(l.NS))
}

// spoil writes a status. That of a Usage only the operator may write.
func (l land) spoil(kind, name, status string) {
	l.T.Helper()
	raw := &unstructured.Unstructured{} // Go can't read the answer as a typed object.
	raw.SetGroupVersionKind(openstackv1alpha1.GroupVersion.WithKind(kind))
	as := client.Client(l.C)
	if kind == "Usage" {
		as = l.As(options.OperatorOf("usage"))
		raw.SetGroupVersionKind(protectionv1beta1.GroupVersion.WithKind(kind))
	}
	raw.SetNamespace(l.NS)
	raw.SetName(name)
	testenv.Eventually(l.T, func() error { // A definition that was changed counts a moment later.
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
		return as.Status().Patch(l.T.Context(), raw, patch)
	})
}

// logged waits until an operator's log names an object that it can't read.
func logged(t *testing.T, o *operator.Operator, name string) {
	t.Helper()
	testenv.Eventually(t, func() error {
		for line := range strings.Lines(o.Log()) {
			if strings.Contains(line, "An object can't be read") && strings.Contains(line, name) {
				return nil
			}
		}
		return fmt.Errorf("the log does not name %s", name)
	})
}

// reconciles waits until the operator has noticed a change of a Network.
func (l land) reconciles(name, description string) {
	l.T.Helper()
	n := l.networkNamed(name)
	patch := fmt.Sprintf(`{"spec":{"resource":{"description":%q}}}`, description)
	if err := l.C.Patch(l.T.Context(), n, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		l.T.Fatal(err)
	}
	testenv.Eventually(l.T, func() error {
		var now openstackv1alpha1.Network
		if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(n), &now); err != nil {
			return err
		}
		for _, c := range now.Status.Conditions {
			if c.ObservedGeneration == now.Generation {
				return nil
			}
		}
		return fmt.Errorf("Network %s of generation %d has %v", name, now.Generation, now.Status.Conditions)
	})
}

// protected asks for the deletion of the used ConfigMap, which is refused.
func (l land) protected() {
	l.T.Helper()
	err := l.C.Delete(l.T.Context(), l.configMap("used"), client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), "denied the request") {
		l.T.Errorf("delete the used ConfigMap: %v, want that it is denied", err)
	}
}
