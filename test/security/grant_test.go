package security_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// revocation is how soon a withdrawn grant ends what rests on it.
const revocation = 5 * time.Second

var toConfigMaps = kinshipv1alpha1.ReferenceGrantTo{Kind: "ConfigMap"}

// neighbours are a tenant in one namespace, who may see what would use something,
// and an object in another one, where he has no rights.
func neighbours(t *testing.T) (home, other land, tenant string) {
	t.Helper()
	home, other = newLand(t), newLand(t)
	tenant = home.user("tenant")
	home.Create(home.secret("using"))
	home.allow(tenant, onUsages, onUsing)
	other.Create(other.configMap("used"))
	return home, other, tenant
}

// reaching returns a Usage that protects something in the other namespace.
func (l land) reaching(other land) *protectionv1beta1.Usage {
	u := l.usage("reaching")
	u.Spec.Of = in(other.NS, u.Spec.Of)
	return u
}

// TestGrant has a tenant protect an object in a namespace which is not his: only
// with a ReferenceGrant of that namespace, and only as long as it is there.
func TestGrant(t *testing.T) {
	operator.Start(t)
	home, other, tenant := neighbours(t)
	u := home.reaching(other)
	if err := home.As(tenant).Create(t.Context(), u); !apierrors.IsForbidden(err) {
		t.Fatalf("without a grant: %v, want 403", err)
	}
	grant := other.grant(home.NS, toConfigMaps)
	other.Create(grant)
	testenv.Eventually(t, func() error { return home.As(tenant).Create(t.Context(), u) })
	home.awaitReady(u)
	if err := other.C.Delete(t.Context(), other.configMap("used")); !apierrors.IsConflict(err) {
		t.Errorf("deletion of what is protected with a grant: %v, want a conflict", err)
	}
	other.Delete(grant)
	start := time.Now()
	testenv.EventuallyWithin(t, revocation, func() error {
		return other.C.Delete(t.Context(), other.configMap("used"))
	})
	t.Logf("the object could be deleted %s after the grant was withdrawn", time.Since(start).Round(time.Millisecond))
	testenv.EventuallyWithin(t, revocation, func() error {
		if err := home.isReady(u); err == nil {
			return errors.New("the Usage is Ready without its grant")
		}
		return nil
	})
}

// TestGrantOfSomethingElse gives grants that are about something else.
func TestGrantOfSomethingElse(t *testing.T) {
	operator.Start(t)
	home, other, tenant := neighbours(t)
	third := newLand(t)
	for name, grant := range map[string]*kinshipv1alpha1.ReferenceGrant{
		"another name":      other.grant(home.NS, kinshipv1alpha1.ReferenceGrantTo{Kind: "ConfigMap", Name: new("other")}),
		"another kind":      other.grant(home.NS, kinshipv1alpha1.ReferenceGrantTo{Kind: "Secret"}),
		"another group":     other.grant(home.NS, kinshipv1alpha1.ReferenceGrantTo{Group: "apps", Kind: "ConfigMap"}),
		"another namespace": other.grant(third.NS, toConfigMaps),
		"given elsewhere":   third.grant(home.NS, toConfigMaps),
		"given to himself":  home.grant(home.NS, toConfigMaps),
	} {
		t.Run(name, func(t *testing.T) {
			if err := home.C.Create(t.Context(), grant); err != nil {
				t.Fatal(err)
			}
			// The operator has heard of it when it has heard of one created later.
			marker := third.grant(home.NS, kinshipv1alpha1.ReferenceGrantTo{Kind: "Service"})
			marker.Name = "marker"
			third.Create(marker)
			probe := home.reaching(third)
			probe.Spec.Of.Kind = "Service"
			testenv.Eventually(t, func() error { return home.As(tenant).Create(t.Context(), probe, client.DryRunAll) })

			if err := home.As(tenant).Create(t.Context(), home.reaching(other)); !apierrors.IsForbidden(err) {
				t.Errorf("got %v, want 403", err)
			}
			home.Delete(grant, marker)
		})
	}
}

// TestGrantOutsideOfNamespaces has a tenant who rules his namespace grant himself
// what lives in no namespace: it is not his to give.
func TestGrantOutsideOfNamespaces(t *testing.T) {
	operator.Start(t)
	l := newLand(t)
	tenant := l.user("tenant")
	l.Create(l.secret("using"))
	l.allow(tenant, onUsages, onUsing, right("kinship.dev", "referencegrants", "*"))
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: l.NS}}
	l.Create(role)
	t.Cleanup(func() { _ = l.C.Delete(t.Context(), role) })
	grant := l.grant(l.NS, kinshipv1alpha1.ReferenceGrantTo{Group: rbacv1.GroupName, Kind: "ClusterRole"}, toConfigMaps)
	if err := l.As(tenant).Create(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { // It is heard of.
		return l.As(tenant).Create(t.Context(), l.usage("probe"), client.DryRunAll)
	})
	for _, namespace := range []string{"", l.NS} {
		u := l.usage("greedy")
		u.Spec.Of = in(namespace, resource("ClusterRole", role.Name))
		u.Spec.Of.APIVersion = rbacv1.SchemeGroupVersion.String()
		if err := l.As(tenant).Create(t.Context(), u); !apierrors.IsForbidden(err) {
			t.Errorf("with namespace %q: %v, want 403", namespace, err)
		}
		_ = l.C.Delete(t.Context(), u)
	}
}

// TestForgedAuthority writes the mark that says that a Usage needs no grant.
func TestForgedAuthority(t *testing.T) {
	operator.Start(t)
	home, other, tenant := neighbours(t)
	grant := other.grant(home.NS, toConfigMaps)
	other.Create(grant)
	u := home.reaching(other)
	u.Annotations = map[string]string{authority: "author"}
	testenv.Eventually(t, func() error {
		err := home.As(tenant).Create(t.Context(), u.DeepCopy(), client.DryRunAll)
		if apierrors.IsForbidden(err) {
			return err // The grant has not been heard of.
		}
		return nil
	})
	if err := home.As(tenant).Create(t.Context(), u); err != nil {
		u.Annotations = nil // To be refused is as good.
		if err := home.As(tenant).Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	home.checkUnmarked(u)
	forge := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"author"}}}`, authority))
	// Whether it is refused or without effect is all the same.
	_ = home.As(tenant).Patch(t.Context(), u, forge)
	home.checkUnmarked(u)
	_ = home.C.Patch(t.Context(), u, forge) // Not even by who could have had it.
	home.checkUnmarked(u)
	home.awaitReady(u)
	other.Delete(grant)
	testenv.EventuallyWithin(t, revocation, func() error { return other.C.Delete(t.Context(), other.configMap("used")) })
}

func (l land) checkUnmarked(u *protectionv1beta1.Usage) {
	l.T.Helper()
	if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		l.T.Fatal(err)
	}
	if got, found := u.Annotations[authority]; found {
		l.T.Errorf("the Usage carries the mark %q", got)
	}
}

// TestInheritedAuthority changes what somebody with rights has written: the new
// Usage is that of who changed it.
func TestInheritedAuthority(t *testing.T) {
	operator.Start(t)
	home, other, tenant := neighbours(t)
	u := home.reaching(other)
	home.Create(u) // By an administrator.
	home.awaitReady(u)
	if err := home.C.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	if u.Annotations[authority] == "" {
		t.Fatal("the administrator's Usage has no mark")
	}
	for name, patch := range map[string]string{
		"another object": `{"spec":{"of":{"resourceRef":{"name":"kube-root-ca.crt"}}}}`,
		"another reason": `{"spec":{"reason":"because"}}`,
		"a selector":     `{"spec":{"of":{"resourceSelector":{"matchControllerRef":true,"matchAll":true}}}}`,
		"no annotation":  fmt.Sprintf(`{"metadata":{"annotations":{%q:null}},"spec":{"reason":"because"}}`, authority),
	} {
		err := home.As(tenant).Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want 403", name, err)
		}
	}
	// What does not concern the spec is his right to change.
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	if err := home.As(tenant).Patch(t.Context(), u, label); err != nil {
		t.Errorf("change a label: %v", err)
	}
	grant := other.grant(home.NS, toConfigMaps)
	other.Create(grant)
	testenv.Eventually(t, func() error {
		return home.As(tenant).Patch(t.Context(), u,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"reason":"because"}}`)))
	})
	home.checkUnmarked(u)
	// An administrator who changes what the tenant has written does not lend the tenant rights.
	because := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"reason":"of an administrator"}}`))
	if err := home.C.Patch(t.Context(), u, because); err != nil {
		t.Fatal(err)
	}
	home.checkUnmarked(u)
	other.Delete(grant)
	testenv.EventuallyWithin(t, revocation, func() error { return other.C.Delete(t.Context(), other.configMap("used")) })
}

// TestChosenOwner has a tenant change what a Usage by an administrator selects,
// by giving it another owner: the spec stays the same, what it means does not.
func TestChosenOwner(t *testing.T) {
	operator.Start(t)
	home, other, tenant := neighbours(t)
	mine, theirs := home.configMap("mine"), home.configMap("theirs")
	home.Create(mine, theirs)
	owned := func(by client.Object) []metav1.OwnerReference {
		return []metav1.OwnerReference{*metav1.NewControllerRef(by, schemeKind)}
	}
	for name, owner := range map[string]client.Object{"intended": mine, "coveted": theirs} {
		obj := home.secret(name)
		obj.OwnerReferences = owned(owner)
		home.Create(obj)
	}
	u := home.usage("usage")
	u.OwnerReferences = owned(mine)
	u.Spec.Of = resource("Secret", "")
	u.Spec.Of.ResourceRef = nil
	u.Spec.Of.ResourceSelector = selectOwned
	home.Create(u)
	home.awaitReady(u)
	if err := home.C.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	before := u.DeepCopy()
	u.OwnerReferences = append(owned(theirs), u.OwnerReferences[1:]...)
	err := home.As(tenant).Patch(t.Context(), u, client.MergeFrom(before))
	if !apierrors.IsForbidden(err) {
		t.Errorf("another owner: %v, want 403: he may not delete Secrets", err)
	}
	_ = other
}
