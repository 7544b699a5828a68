package usage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestDeleteUsingFirst: a refusal of the namespace controller is no reason to delete the using
// object while its namespace stays.
func TestDeleteUsingFirst(t *testing.T) {
	r := newRig(t)
	using, used, u := configMap("using"), configMap("used"), uses("u")
	r.create(using, used)
	r.protect(u)
	target := relation.ObjectOf(configMapID(used).GroupKind(), used)
	u.Status.Refused = []sharedv1alpha1.RefusedDeletion{{
		Target: bindTo(target), User: pack.NamespaceController, Time: metav1.NewTime(time.Now()),
	}}
	p := r.begin(identify(u), u)
	if outcome := r.deleteUsingFirst(t.Context(), p); !outcome.IsDone() || !r.read(using) {
		t.Errorf("outcome %s, using object exists: %t", outcome.Message(), r.read(using))
	}
	source := relation.Named(configMapID(using))
	if outcome := r.deleteSource(t.Context(), source); outcome.Worst().Reason != sharedv1alpha1.ReasonWaitingUsingDeleted {
		t.Errorf("outcome %s, want to wait for the using object", outcome.Message())
	}
	if r.read(using) {
		t.Error("deleteSource did not delete the using object")
	}
}
