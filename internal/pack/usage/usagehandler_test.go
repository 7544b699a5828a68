package usage

import (
	"fmt"
	"strings"
	"testing"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// chained returns a ledger in which each object uses the next object.
func chained(t *testing.T, length int) *ledger {
	t.Helper()
	l := newTestLedger(t)
	for i := range length - 1 {
		l.Declared.Set(object.ID{Kind: "Usage", Name: fmt.Sprint(i)}, []relation.Edge{{
			Declarer: object.ID{Kind: "Usage", Name: fmt.Sprint(i)}, Source: link(i), Target: link(i + 1),
		}})
	}
	return l
}

func link(i int) relation.Ref {
	return relation.Named(object.ID{Kind: "ConfigMap", Namespace: "ns", Name: fmt.Sprint("cm", i)})
}

// TestRingUntold: if checkRing can't find out whether a Usage closes a ring, the Usage is
// accepted, and its author gets a warning.
func TestRingUntold(t *testing.T) {
	v := newTestUsageHandler(t)
	v.ledger = chained(t, 10_002)
	u := &protectionv1beta1.Usage{}
	u.Namespace = "ns"
	end := func(name string) sharedv1alpha1.Resource {
		return sharedv1alpha1.Resource{
			APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: name},
		}
	}
	u.Spec.Of, u.Spec.By = end("cm0"), new(end("other"))
	answer := v.checkRing(t.Context(), u)
	want := "behind ConfigMap/cm0 in namespace ns too many objects use each other"
	if !answer.Allowed || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], want) {
		t.Errorf("answered with %+v, want the warning %q", answer, want)
	}
}
