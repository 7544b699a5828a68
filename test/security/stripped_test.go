package security_test

import (
	"errors"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestStrippedWithoutPolicy takes the lock off where no policy of the API server
// keeps it on, as none does before Kubernetes 1.36: it comes back, and that is told.
func TestStrippedWithoutPolicy(t *testing.T) {
	if err := operator.Start(t).Stop(); err != nil {
		t.Fatal(err)
	}
	operator.Start(t, func(o *options.Options) { o.Install, o.Adopt = false, false }) // Or it would restore them.
	l, used, _ := replaying(t)
	ours := client.MatchingLabels{"app.kubernetes.io/part-of": "kinship"}
	for _, kind := range []client.Object{
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{}, &admissionregistrationv1.MutatingAdmissionPolicy{},
	} {
		if err := l.C.DeleteAllOf(t.Context(), kind, ours); err != nil {
			t.Fatal(err)
		}
	}
	strip := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+lockLabel+`":null}}}`))
	testenv.Eventually(t, func() error { // The policy may be in force for a moment after its deletion.
		if err := l.C.Patch(t.Context(), used, strip); err != nil {
			return err
		}
		if used.Labels[lockLabel] != "" {
			return errors.New("the lock can't be taken off")
		}
		return nil
	})
	testenv.Eventually(t, func() error {
		if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(used), used); err != nil {
			return err
		}
		if used.Labels[lockLabel] == "" {
			return errors.New("the lock is not back")
		}
		return nil
	})
	if err := l.C.Delete(t.Context(), used); !apierrors.IsConflict(err) {
		t.Errorf("deletion: %v, want a conflict", err)
	}
	testenv.Eventually(t, func() error {
		var list eventsv1.EventList
		if err := l.C.List(t.Context(), &list, client.InNamespace(l.NS)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "LockRestored" && e.Regarding.Name == used.Name && e.Regarding.UID == used.UID {
				return nil
			}
		}
		return errors.New("no event LockRestored about the object")
	})
}
