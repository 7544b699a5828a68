package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// reaching returns a Usage of a ConfigMap in another namespace.
func reaching(used string) *protectionv1beta1.Usage {
	u := &protectionv1beta1.Usage{Spec: sharedv1alpha1.UsageSpec{Of: sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap",
		ResourceRef: &sharedv1alpha1.ResourceRef{Namespace: "out", Name: used},
	}, Reason: new("precious")}}
	u.Namespace, u.Name, u.UID, u.Finalizers = "ns", "u", "first", []string{finalizer.Name}
	return u
}

// granting lets Usages like that reach out.
func granting() []kinshipv1alpha1.ReferenceGrant {
	g := kinshipv1alpha1.ReferenceGrant{Spec: kinshipv1alpha1.ReferenceGrantSpec{
		From: []kinshipv1alpha1.ReferenceGrantFrom{{
			Group: protectionv1beta1.GroupVersion.Group, Kind: "Usage", Namespace: "ns",
		}},
		To: []kinshipv1alpha1.ReferenceGrantTo{{Kind: "ConfigMap"}},
	}}
	g.Namespace = "out"
	return []kinshipv1alpha1.ReferenceGrant{g}
}

// used returns the objects that a Usage holds, by name.
func used(l *ledger, u usage) []string {
	var names []string
	for _, e := range l.Declared.Declared(identify(u)) {
		if e.Content == nil {
			names = append(names, e.Target.Name)
		}
	}
	return names
}

// snapshots is a store whose content a test changes after each list.
type snapshots struct {
	toolscache.Store

	then func()
}

// List implements toolscache.Store.
func (s snapshots) List() []any {
	defer s.then()
	return s.Store.List()
}

// TestGrantsBesideChanges: a Usage that changes or is deleted while a ReferenceGrant updates it
// is recorded in its last state, not in the state at the beginning of the update.
func TestGrantsBesideChanges(t *testing.T) {
	before, after := reaching("before"), reaching("after")
	cases := map[string]struct {
		reason string
		now    *protectionv1beta1.Usage
		want   []string
	}{
		"changed": {"it holds what its newest spec names", after, []string{"after"}},
		"gone":    {"nothing may be left of it", nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l, store := newTestLedger(t), toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
			p := &parts{ledger: l, store: usageStore{stores: map[schema.GroupKind]toolscache.Store{}}}
			for _, k := range kinds {
				p.store.stores[k.GroupKind()] = toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
			}
			p.store.stores[kinds[0].GroupKind()] = snapshots{store, func() {
				if err := store.Delete(before); err != nil {
					t.Error(err)
				}
				if c.now != nil {
					if err := store.Add(c.now); err != nil {
						t.Error(err)
					}
				}
				l.Update(identify(before)) // As its informer does.
			}}
			l.get = p.store.get
			l.grants = func(string) []kinshipv1alpha1.ReferenceGrant { return granting() }
			if err := store.Add(before); err != nil {
				t.Fatal(err)
			}
			l.Update(identify(before))
			p.grantsChanged()
			if diff := cmp.Diff(c.want, used(l, before)); diff != "" {
				t.Errorf("%s: held (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
