package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Bounds of what one Usage keeps, so that its status stays far below what etcd
// stores. The deletion of an object more is refused like any other, and not
// recorded.
const (
	maxRefused = 64
	// maxGroups is how many groups of a user are kept. Fewer groups mean fewer
	// rights, never more.
	maxGroups = 256
	// maxGroupBytes bounds the groups of all records of a Usage together.
	maxGroupBytes = 256 << 10
)

// record stores a refused deletion for replay, in the status of the first Usage with
// replayDeletion, and returns the stored record. A record without a user means that none was
// stored. A repeated refusal of the same deletion writes nothing.
func (h *refuser) record(
	ctx context.Context, req admission.Request, obj relation.Object, found holders,
) (recorded sharedv1alpha1.RefusedDeletion, _ error) {
	if dryRun(req) || h.operators.Has(req.UserInfo.Username) || req.Operation != admissionv1.Delete {
		return recorded, nil
	}
	var options dependents
	if len(req.Options.Raw) > 0 {
		if err := json.Unmarshal(req.Options.Raw, &options); err != nil {
			return recorded, fmt.Errorf("read delete options: %w", err)
		}
	}
	refused := sharedv1alpha1.RefusedDeletion{
		Target:            bindTo(obj),
		PropagationPolicy: options.policy(),
		User:              req.UserInfo.Username,
		Groups:            req.UserInfo.Groups[:min(len(req.UserInfo.Groups), maxGroups)],
		Time:              metav1.NewTime(h.clock.Now().Truncate(time.Second)),
	}
	for _, e := range found.edges {
		u := found.get(e.Declarer)
		if u != nil && e.Content == nil && records(u, refused.User) {
			return h.note(ctx, u, refused)
		}
	}
	return recorded, nil
}

// dependents is what a request says is to become of them, in either of two ways.
type dependents struct {
	PropagationPolicy *metav1.DeletionPropagation `json:"propagationPolicy"`
	OrphanDependents  *bool                       `json:"orphanDependents"` // As some still ask.
}

// policy returns it in one way. Where nothing is said the API server goes by the
// object's finalizers and by its kind, and keeps what a Job owns; so it has to when it
// is asked again.
func (d dependents) policy() metav1.DeletionPropagation {
	switch {
	case d.PropagationPolicy != nil:
		return *d.PropagationPolicy
	case d.OrphanDependents == nil:
		return ""
	case *d.OrphanDependents:
		return metav1.DeletePropagationOrphan
	default:
		return metav1.DeletePropagationBackground
	}
}

// note writes a record into the status of a Usage, and returns what is on record then,
// which is nothing where there is no room. Other replicas may be writing others of the same
// Usage, which must not be lost.
func (h *refuser) note(
	ctx context.Context, u usage, refused sharedv1alpha1.RefusedDeletion,
) (noted sharedv1alpha1.RefusedDeletion, _ error) {
	kind, _ := kindOf(identify(u).GroupKind())
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		after := u.DeepCopyObject().(usage)
		var changed bool
		if noted, changed = h.add(after.UsageStatus(), refused); !changed {
			return nil
		}
		patch := client.MergeFromWithOptions(u, client.MergeFromWithOptimisticLock{})
		err := h.status.Status().Patch(ctx, after, patch)
		if !apierrors.IsConflict(err) {
			return err
		}
		u = kind.new()
		if err := h.live.Get(ctx, client.ObjectKeyFromObject(after), u); err != nil {
			return err
		}
		return err
	})
	if apierrors.IsNotFound(err) { // The Usage is gone, and the record with it.
		return sharedv1alpha1.RefusedDeletion{}, nil
	}
	if err != nil {
		return noted, fmt.Errorf("record the refused deletion: %w", err)
	}
	return noted, nil
}

// add puts a record into a status. The record replaces one of the same deletion, or one that
// has expired. add returns the stored record, which is empty if there is no room, and reports
// whether the status changed.
func (h *refuser) add(
	status *sharedv1alpha1.UsageStatus, refused sharedv1alpha1.RefusedDeletion,
) (_ sharedv1alpha1.RefusedDeletion, changed bool) {
	fresh := func(r sharedv1alpha1.RefusedDeletion) bool { return h.clock.Since(r.Time.Time) <= h.expiry }
	known := slices.IndexFunc(status.Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
		return r.Target.UID == refused.Target.UID && r.PropagationPolicy == refused.PropagationPolicy && fresh(r)
	})
	if known >= 0 {
		return status.Refused[known], false
	}
	status.Refused = slices.DeleteFunc(status.Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
		return r.Target.UID == refused.Target.UID || !fresh(r)
	})
	if !fit(status, refused) {
		return sharedv1alpha1.RefusedDeletion{}, false
	}
	return refused, true
}

// fit appends a record if there is room for it.
func fit(status *sharedv1alpha1.UsageStatus, refused sharedv1alpha1.RefusedDeletion) bool {
	all := append(slices.Clone(status.Refused), refused)
	size := 0
	for _, r := range all {
		for _, group := range r.Groups {
			size += len(group)
		}
	}
	if len(all) > maxRefused || size > maxGroupBytes {
		return false
	}
	status.Refused = all
	return true
}
