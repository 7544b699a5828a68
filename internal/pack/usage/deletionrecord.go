package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Limits of status.refused keep a Usage far below the size that etcd stores. A deletion beyond a
// limit is refused as usual and not recorded.
const (
	maxRefused = 64
	// maxGroups is how many groups of a user are recorded. Fewer groups never mean more rights.
	maxGroups = 256
	// maxGroupBytes limits the groups of all records of a Usage together.
	maxGroupBytes = 256 << 10
)

// errAskAgain makes deletionHandler answer pack.AskAgain.
var errAskAgain = errors.New("the client has to repeat the request")

// record stores a refused deletion for replay, in status.refused of the first Usage with
// spec.replayDeletion, and returns the stored record. A record without a user means that no
// Usage has stored the deletion. A repeated refusal of the same deletion writes nothing.
func (h *deletionHandler) record(
	ctx context.Context, req admission.Request, obj relation.Object, found holders,
) (recorded sharedv1alpha1.RefusedDeletion, _ error) {
	if isDryRun(req) || h.operators.Has(req.UserInfo.Username) || req.Operation != admissionv1.Delete {
		return recorded, nil
	}
	var options deleteOptions
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
		if u := found.get(e.Declarer); u != nil && e.Content == nil && wantsReplay(u, refused.User) {
			// A user who knows the path of the webhook could else have objects deleted in an administrator's name.
			switch h.origin.Prove(ctx, repeatOf(req, obj)) {
			case pack.Proven:
				return h.store(ctx, u, refused)
			case pack.Pending:
				return recorded, errAskAgain
			case pack.Unproven:
				return recorded, nil
			}
		}
	}
	return recorded, nil
}

// repeatOf returns the request of a review. The name of a member of a deleted collection is only in the object.
func repeatOf(req admission.Request, obj relation.Object) pack.Repeat {
	request := pack.RepeatOf(req)
	request.Namespace, request.Name = obj.ID.Namespace, obj.ID.Name
	return request
}

// deleteOptions are the two fields of a DELETE request for the objects that the deleted object
// owns.
type deleteOptions struct {
	PropagationPolicy *metav1.DeletionPropagation `json:"propagationPolicy"`
	OrphanDependents  *bool                       `json:"orphanDependents"` // Deprecated, but still sent.
}

// policy returns both fields as a propagationPolicy. policy is empty if neither is set: the API
// server then decides by the object's finalizers and kind (it keeps the Pods of a Job), and
// must do so for a replay.
func (d deleteOptions) policy() metav1.DeletionPropagation {
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

// store writes a record into status.refused of a Usage and returns the stored record. The
// result is empty if status.refused is full or the Usage was deleted. Other replicas may add
// records at the same time.
func (h *deletionHandler) store(
	ctx context.Context, u usage, refused sharedv1alpha1.RefusedDeletion,
) (stored sharedv1alpha1.RefusedDeletion, _ error) {
	err := changeStatus(ctx, h.client, h.live, u, func(status *sharedv1alpha1.UsageStatus) {
		stored = h.addRecord(status, refused)
	})
	if apierrors.IsNotFound(err) {
		return sharedv1alpha1.RefusedDeletion{}, nil
	}
	if err != nil {
		return stored, fmt.Errorf("record the refused deletion: %w", err)
	}
	return stored, nil
}

// addRecord adds a record to a status, unless the status has a fresh record of the same deletion.
// addRecord drops expired records, and other records of the same object. addRecord returns the
// record that the status then has, which is empty if there is no room.
func (h *deletionHandler) addRecord(
	status *sharedv1alpha1.UsageStatus, refused sharedv1alpha1.RefusedDeletion,
) sharedv1alpha1.RefusedDeletion {
	fresh := func(r sharedv1alpha1.RefusedDeletion) bool { return h.clock.Since(r.Time.Time) <= h.expiry }
	known := slices.IndexFunc(status.Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
		return r.Target.UID == refused.Target.UID && r.PropagationPolicy == refused.PropagationPolicy && fresh(r)
	})
	if known >= 0 {
		return status.Refused[known]
	}
	before := slices.Clone(status.Refused)
	status.Refused = slices.DeleteFunc(status.Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
		return r.Target.UID == refused.Target.UID || !fresh(r)
	})
	if !appendRecord(status, refused) {
		status.Refused = before
		return sharedv1alpha1.RefusedDeletion{}
	}
	return refused
}

// appendRecord appends a record if there is room, and reports whether there was.
func appendRecord(status *sharedv1alpha1.UsageStatus, refused sharedv1alpha1.RefusedDeletion) bool {
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

// hasNewRecord reports whether status.refused has a record that the former status did not have.
func hasNewRecord(before, now *sharedv1alpha1.UsageStatus) bool {
	return slices.ContainsFunc(now.Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
		return !slices.ContainsFunc(before.Refused, func(b sharedv1alpha1.RefusedDeletion) bool {
			return b.Target.UID == r.Target.UID && b.PropagationPolicy == r.PropagationPolicy && b.Time.Equal(&r.Time)
		})
	})
}
