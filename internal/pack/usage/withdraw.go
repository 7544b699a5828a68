package usage

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
)

// statusRefused answers a user who writes the status of a Usage.
const statusRefused = "the status of a Usage says what was asked of it and by whom; only Kinship may write it"

// status judges a change of a Usage's status by a user other than the operator. The only allowed
// change removes entries of status.refused. A user removes entries of the user's own deletions.
// A user with the verb override on the Usage removes any entry, because that user could delete
// the used object at once.
func (v *validator) status(
	ctx context.Context, user authenticationv1.UserInfo, u, old usage,
) admission.Response {
	denied := pack.Denied(http.StatusForbidden, metav1.StatusReasonForbidden, statusRefused)
	if old == nil {
		return denied
	}
	withdrawn, ok := withdrawal(u.UsageStatus(), old.UsageStatus())
	if !ok {
		return denied
	}
	if !slices.ContainsFunc(withdrawn, func(r sharedv1alpha1.RefusedDeletion) bool { return r.User != user.Username }) {
		return admission.Allowed("")
	}
	id := identify(old)
	k, _ := kindOf(id.GroupKind())
	allowed, err := v.reviewer.Allowed(ctx, user, authorise.Action{
		Verb: "override", Group: k.Group, Resource: k.resource, Namespace: id.Namespace, Name: id.Name,
	})
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if !allowed {
		return pack.Denied(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"a deletion that somebody else asked for can be withdrawn with the verb override on %s alone", id))
	}
	return admission.Allowed("")
}

// withdrawal returns what a change of a status takes off the record, and whether it does
// that and nothing else.
func withdrawal(status, old *sharedv1alpha1.UsageStatus) ([]sharedv1alpha1.RefusedDeletion, bool) {
	var withdrawn []sharedv1alpha1.RefusedDeletion
	left := status.Refused
	for _, r := range old.Refused {
		if len(left) > 0 && equality.Semantic.DeepEqual(left[0], r) {
			left = left[1:]
			continue
		}
		withdrawn = append(withdrawn, r)
	}
	rest := *status.DeepCopy()
	rest.Refused = old.Refused
	return withdrawn, len(withdrawn) > 0 && len(left) == 0 && equality.Semantic.DeepEqual(&rest, old)
}

// Withdrawn is a refused deletion that is not on record any more.
type Withdrawn struct {
	// Usage is where the deletion was on record.
	Usage object.ID
	// User asked for the deletion.
	User string
	// Time is when the deletion was refused first.
	Time metav1.Time
}

// Withdraw takes the refused deletions of an object off the record, so that they are not
// carried out when nothing is in the way any more. The operator's webhook decides whether
// whoever asks may do so. Usages are read in the whole cluster, or in the namespace of the
// object where the rights are too few.
func Withdraw(ctx context.Context, c client.Client, id object.ID, uid types.UID) ([]Withdrawn, error) {
	var withdrawn []Withdrawn
	for _, k := range kinds {
		list, err := listUsages(ctx, c, k)
		if apierrors.IsForbidden(err) && id.Namespace != "" {
			list, err = listUsages(ctx, c, k, client.InNamespace(id.Namespace))
		}
		if notServed(err) || apierrors.IsForbidden(err) {
			continue // What cannot be seen cannot be withdrawn, and the caller says so.
		}
		if err != nil {
			return withdrawn, err
		}
		for _, u := range list {
			found, err := withdraw(ctx, c, u, uid)
			if err != nil {
				return withdrawn, err
			}
			withdrawn = append(withdrawn, found...)
		}
	}
	return withdrawn, nil
}

// withdraw takes the refused deletions of an object off one Usage's record.
func withdraw(ctx context.Context, c client.Client, u usage, uid types.UID) ([]Withdrawn, error) {
	var found []Withdrawn
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found = nil
		after := u.DeepCopyObject().(usage)
		after.UsageStatus().Refused = slices.DeleteFunc(after.UsageStatus().Refused,
			func(r sharedv1alpha1.RefusedDeletion) bool {
				if r.Target.UID != uid {
					return false
				}
				found = append(found, Withdrawn{Usage: identify(u), User: r.User, Time: r.Time})
				return true
			})
		if len(found) == 0 {
			return nil
		}
		err := c.Status().Patch(ctx, after, client.MergeFromWithOptions(u, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) { // The operator writes the same status.
			if err := c.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
				return err
			}
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("withdraw from %s: %w", identify(u), err)
	}
	return found, nil
}

// notServed reports whether an error says that there is no such kind.
func notServed(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
