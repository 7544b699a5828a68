package security_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

var errLabelled = errors.New("the label is still there")

// owners returns owner references to objects of a kind that the cluster does not
// know, which the garbage collector therefore leaves alone.
func owners(n int) []metav1.OwnerReference {
	refs := make([]metav1.OwnerReference, n)
	for i := range refs {
		refs[i] = metav1.OwnerReference{
			APIVersion: "x.io/v1", Kind: "X", Name: "x", UID: types.UID(fmt.Sprintf("u%05d", i)),
		}
	}
	return refs
}

func finalizers(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("example.com/finalizer-%d", i)
	}
	return names
}

// TestLarge protects objects that are as large as the API server takes them.
func TestLarge(t *testing.T) {
	operator.Start(t)
	for name, grow := range map[string]func(client.Object){
		"10000 owners": func(obj client.Object) {
			n := 10000
			if _, isUsage := obj.(*protectionv1beta1.Usage); isUsage {
				n = 1000 // Thousands more take the API server seconds by themselves.
			}
			obj.SetOwnerReferences(owners(n))
		},
		"1000 finalizers": func(obj client.Object) { obj.SetFinalizers(finalizers(1000)) },
		"a large annotation": func(obj client.Object) {
			obj.SetAnnotations(map[string]string{"a": string(slices.Repeat([]byte("x"), 250<<10))})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLand(t)
			used, using, u := l.configMap("used"), l.secret("using"), l.usage("usage")
			for _, obj := range []client.Object{used, using, u} {
				grow(obj)
				l.Create(obj)
			}
			l.awaitReady(u)
			if err := l.C.Delete(t.Context(), used); !apierrors.IsConflict(err) {
				t.Errorf("deletion: %v, want a conflict", err)
			}
			l.checkForeign(used, grow, "")
			l.checkForeign(u, grow, "usage.kinship.dev/in-use")
			l.Delete(using)
			l.free(using)
			testenv.Eventually(t, func() error { return l.C.Delete(t.Context(), used) })
			l.checkForeign(used, grow, "")
			l.free(used)
			l.free(u)
			l.Gone(u)
		})
	}
}

// checkForeign compares the finalizers of an object with those that it was given
// and the one that is ours.
func (l land) checkForeign(obj client.Object, grow func(client.Object), ours string) {
	l.T.Helper()
	want := l.configMap("want")
	grow(want)
	err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) && len(want.Finalizers) == 0 {
		return
	}
	if err != nil {
		l.T.Errorf("%s: %v", obj.GetName(), err)
		return
	}
	have := slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == ours })
	if !slices.Equal(have, want.Finalizers) {
		l.T.Errorf("%s has %d foreign finalizers, was given %d", obj.GetName(), len(have), len(want.Finalizers))
	}
}

// free removes the finalizers that a test has set, as their controllers would.
func (l land) free(obj client.Object) {
	l.T.Helper()
	testenv.Eventually(l.T, func() error {
		err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(obj), obj)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool {
			return f != "usage.kinship.dev/in-use"
		}))
		return l.C.Update(l.T.Context(), obj)
	})
}

// TestForeignFinalizers takes all three objects through a life with finalizers of
// somebody else on them, who is slow. Nobody but him takes them off.
func TestForeignFinalizers(t *testing.T) {
	operator.Start(t)
	l := newLand(t)
	used, using, u := l.configMap("used"), l.secret("using"), l.usage("usage")
	theirs := func(obj client.Object) { obj.SetFinalizers([]string{"example.com/theirs"}) }
	for _, obj := range []client.Object{used, using, u} {
		theirs(obj)
		l.Create(obj)
	}
	l.awaitReady(u)
	l.Delete(using)
	l.checkForeign(using, theirs, "")
	if err := l.C.Delete(t.Context(), used); !apierrors.IsConflict(err) {
		t.Errorf("deletion while the using object is on its way out: %v, want a conflict", err)
	}
	l.free(using)
	testenv.Eventually(t, func() error { return l.C.Delete(t.Context(), used) })
	l.checkForeign(used, theirs, "")
	testenv.Eventually(t, func() error {
		if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if !slices.Equal(u.Finalizers, []string{"example.com/theirs"}) {
			return fmt.Errorf("the Usage's finalizers are %v", u.Finalizers)
		}
		return nil
	})
	l.free(used)
	l.free(u)
	l.Gone(u)
	l.Gone(used)
}
