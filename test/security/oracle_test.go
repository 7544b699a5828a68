package security_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestNoOracle has a tenant who may create Usages, and nothing else, ask for all
// sorts of objects. He is refused, and can't tell from the words whether an
// object exists.
func TestNoOracle(t *testing.T) {
	operator.Start(t)
	l, other := newLand(t), newLand(t)
	tenant := l.user("tenant")
	l.allow(tenant, onUsages)
	existing, missing := "there", "nowhere"
	for _, land := range []land{l, other} {
		object := land.configMap(existing)
		object.Labels = map[string]string{"name": existing}
		land.Create(object, land.secret(existing))
	}
	l.Create(l.configMap("used"))
	selector := func(kind, name string) sharedv1alpha1.Resource {
		return sharedv1alpha1.Resource{APIVersion: "v1", Kind: kind, ResourceSelector: &sharedv1alpha1.ResourceSelector{
			MatchLabels: map[string]string{"name": name},
		}}
	}
	for name, spec := range map[string]func(name string) (of, by sharedv1alpha1.Resource){
		"used": func(name string) (of, by sharedv1alpha1.Resource) {
			return resource("ConfigMap", name), resource("Secret", existing)
		},
		"using": func(name string) (of, by sharedv1alpha1.Resource) {
			return resource("ConfigMap", "used"), resource("Secret", name)
		},
		"both": func(name string) (of, by sharedv1alpha1.Resource) {
			return resource("ConfigMap", name), resource("Secret", name)
		},
		"used in another namespace": func(name string) (of, by sharedv1alpha1.Resource) {
			return in(other.NS, resource("ConfigMap", name)), resource("Secret", existing)
		},
		"used outside of namespaces": func(name string) (of, by sharedv1alpha1.Resource) {
			if name == existing {
				name = other.NS
			}
			return resource("Namespace", name), resource("Secret", existing)
		},
		"selected": func(name string) (of, by sharedv1alpha1.Resource) {
			return selector("ConfigMap", name), resource("Secret", existing)
		},
	} {
		t.Run(name, func(t *testing.T) {
			try := func(name string, dry ...client.CreateOption) string {
				t.Helper()
				of, by := spec(name)
				u := &protectionv1beta1.Usage{
					ObjectMeta: l.named("ask"), Spec: sharedv1alpha1.UsageSpec{Of: of, By: &by},
				}
				err := l.As(tenant).Create(t.Context(), u, dry...)
				if !apierrors.IsForbidden(err) {
					t.Fatalf("a Usage of %q was answered with %v, want 403", name, err)
				}
				return err.Error()
			}
			yes, no := try(existing), try(missing)
			if yes != no {
				t.Errorf("the answers differ:\nexisting: %s\nmissing:  %s", yes, no)
			}
			if yes, no := try(existing, client.DryRunAll), try(missing, client.DryRunAll); yes != no {
				t.Errorf("the answers to a dry run differ:\nexisting: %s\nmissing:  %s", yes, no)
			}
		})
	}
}

// TestRights shows what suffices to create a Usage and what does not.
func TestRights(t *testing.T) {
	operator.Start(t)
	byLabel := sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap",
		ResourceSelector: &sharedv1alpha1.ResourceSelector{MatchLabels: map[string]string{"a": "b"}},
	}
	type rules = []rbacv1.PolicyRule
	used := resource("ConfigMap", "used")
	all, remove := right("", "*", "*"), right("", "configmaps", "delete")
	one := right("", "configmaps", "delete")
	one.ResourceNames = []string{"used"}
	for _, test := range []struct {
		name string
		have []rbacv1.PolicyRule
		of   sharedv1alpha1.Resource
		ok   bool
	}{
		{"delete", rules{remove, onUsing}, used, true},
		{"protect", rules{right("", "configmaps", "protect"), onUsing}, used, true},
		{"delete the one", rules{one, onUsing}, used, true},
		{"delete another one", rules{one, onUsing}, resource("ConfigMap", "other"), false},
		{"nothing on the using object", rules{remove}, used, false},
		{"everything but delete", rules{
			right("", "configmaps", "get", "list", "watch", "create", "update", "patch"), onUsing,
		}, used, false},
		{"the kind for a selector", rules{remove, onUsing}, byLabel, true},
		{"the one for a selector", rules{one, onUsing}, byLabel, false},
		{"the kind here for one without a namespace", rules{all, onUsing}, resource("Namespace", "default"), false},
		{"the kind here for one elsewhere", rules{all, onUsing}, in("default", resource("ConfigMap", "used")), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLand(t)
			tenant := l.user("tenant")
			l.allow(tenant, onUsages)
			l.allow(tenant, test.have...)
			u := l.usage("usage")
			u.Spec.Of = test.of
			switch err := l.As(tenant).Create(t.Context(), u); {
			case test.ok && err != nil:
				t.Errorf("refused: %v", err)
			case !test.ok && !apierrors.IsForbidden(err):
				t.Errorf("was answered with %v, want 403", err)
			}
		})
	}
}

// TestDryRun tries things without doing them, and compares what was with what is.
func TestDryRun(t *testing.T) {
	operator.Start(t)
	l := newLand(t)
	used, using, u := l.configMap("used"), l.secret("using"), l.usage("usage")
	u.Spec.ReplayDeletion = new(true)
	l.Create(used, using, u)
	l.awaitReady(u)
	if err := l.C.Create(t.Context(), l.usage("tried"), client.DryRunAll); err != nil {
		t.Errorf("try to create a Usage: %v", err)
	}
	before := []string{l.version(used), l.version(using), l.version(u)}
	for range 3 {
		if err := l.C.Delete(t.Context(), used, client.DryRunAll); !apierrors.IsConflict(err) {
			t.Errorf("try to delete: %v, want the refusal that a real deletion gets", err)
		}
	}
	if err := l.C.Delete(t.Context(), u, client.DryRunAll); err != nil {
		t.Errorf("try to delete the Usage: %v", err)
	}
	// A change of something else shows that the operator has seen all of this.
	l.Create(l.configMap("other"))
	other := l.usage("other")
	other.Spec.Of = resource("ConfigMap", "other")
	l.Create(other)
	l.awaitReady(other)
	for i, after := range []string{l.version(used), l.version(using), l.version(u)} {
		if after != before[i] {
			t.Errorf("object %d of used, using and Usage was at version %s and is at %s", i, before[i], after)
		}
	}
	tried := l.usage("tried")
	if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(tried), tried); !apierrors.IsNotFound(err) {
		t.Errorf("a Usage that was only tried: %v", err)
	}
	l.Delete(using)
	l.Gone(u)
	l.Exists(used)
}

func (l land) version(obj client.Object) string {
	l.T.Helper()
	now := obj.DeepCopyObject().(client.Object)
	testenv.Eventually(l.T, func() error { return l.C.Get(l.T.Context(), client.ObjectKeyFromObject(obj), now) })
	return now.GetResourceVersion()
}
