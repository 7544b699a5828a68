package logging

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kinship-dev/kinship/internal/options"
)

// TestDenials: the log names a missing right of the operator once in ten minutes, whichever objects and namespaces the
// right is missing for, and each other error always.
func TestDenials(t *testing.T) {
	nets := schema.GroupResource{Group: "microsoft.network.infra.azure.com", Resource: "virtualnetworks"}
	denied := func(verb, name, namespace string) error {
		text := fmt.Sprintf("User %q cannot %s resource %q in API group %q in the namespace %q",
			options.OperatorOf("azure"), verb, nets.Resource, nets.Group, namespace)
		return fmt.Errorf("add finalizer: %w", apierrors.NewForbidden(nets, name, errors.New(text)))
	}
	refused := apierrors.NewForbidden(nets, "a", errors.New("ValidatingAdmissionPolicy 'other' denied request: no"))
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	d := newDenials(clock)
	for i, row := range []struct {
		after time.Duration
		err   error
		want  bool
	}{
		{0, denied("patch", "a", "x"), true},
		{0, denied("patch", "b", "x"), false},
		{0, denied("patch", "a", "y"), false},
		{0, denied("list", "a", "x"), true},
		{0, refused, true},
		{0, refused, true},
		{0, errors.New("timeout"), true},
		{0, errors.New("timeout"), true},
		{denialPause - time.Second, denied("patch", "c", "x"), false},
		{time.Second, denied("patch", "c", "x"), true},
		{0, denied("patch", "c", "x"), false},
	} {
		clock.SetTime(clock.Now().Add(row.after))
		if got := d.isNew(row.err); got != row.want {
			t.Errorf("row %d: %v: new is %t, want %t", i, row.err, got, row.want)
		}
	}
}
