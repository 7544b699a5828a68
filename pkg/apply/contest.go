package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// contestedError says that an object was not written, because another field manager sets the same
// fields again and again.
type contestedError struct{ message string }

// Error implements error.
func (e *contestedError) Error() string { return e.message }

// restored has when fields of an object were last taken back, by the field manager that had set them.
type restored map[string]time.Time

// isDrift reports whether an object differs from the wanted one only because other clients have
// changed its fields.
func isDrift(seen sight, entry Entry, sum string) bool {
	return entry.UID == seen.UID && entry.Hash == sum && entry.Mark != "" && entry.Mark != seen.Mark
}

// takeBack finds out which field managers have set fields of an object, and returns a *contestedError
// if Applier.Rivalry has not passed since the fields were taken back from one of them.
func (p pass) takeBack(ctx context.Context, o desired, seen sight) error {
	sent := o.DeepCopy()
	sent.SetUID(seen.UID)
	err := p.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent),
		client.FieldOwner(o.FieldOwner), client.DryRunAll)
	rivals := rivalsIn(err)
	if len(rivals) == 0 {
		return nil // The fields were removed, or the answer is one of send.
	}
	last := restored{}
	if before, ok := p.recent.contests.Load(seen.UID); ok {
		last = maps.Clone(before.(restored))
	}
	var again []string
	for _, manager := range slices.Sorted(maps.Keys(rivals)) {
		if at, ok := last[manager]; ok && p.now().Sub(at) < p.Rivalry {
			again = append(again, fmt.Sprintf("%s sets %s", manager, strings.Join(rivals[manager], ", ")))
		}
		last[manager] = p.now()
	}
	p.recent.contests.Store(seen.UID, last)
	if len(again) > 0 {
		return &contestedError{fmt.Sprintf("field manager %s again, and so does %s: neither is overwritten any more",
			strings.Join(again, "; "), o.FieldOwner)}
	}
	return nil
}

// rivalsIn returns the fields that other field managers have set, by the manager, as the API server
// reports them for an apply without force.
func rivalsIn(err error) map[string][]string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	rivals := map[string][]string{}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		// conflict with "kubectl-edit" using apps/v1
		_, rest, _ := strings.Cut(cause.Message, `"`)
		manager, _, _ := strings.Cut(rest, `"`)
		rivals[manager] = append(rivals[manager], strings.TrimPrefix(cause.Field, "."))
	}
	return rivals
}
