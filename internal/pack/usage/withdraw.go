package usage

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
)

// statusRefused is the answer to a user who writes the status of a Usage.
const statusRefused = "only Kinship may write the status of a Usage"

// status judges a change of a Usage's status by a user other than the operator. The only allowed
// change removes entries of status.refused. A user removes entries of the user's own deletions.
// A user with the verb override on the Usage removes any entry, because that user could delete
// the used object at once.
func (h *usageHandler) status(
	ctx context.Context, user authenticationv1.UserInfo, u, old usage,
) admission.Response {
	denied := pack.Forbidden(statusRefused)
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
	return pack.Ask(ctx, h.reviewer, user, authorise.Action{
		Verb: overrideVerb, Group: k.Group, Resource: k.resource, Namespace: id.Namespace, Name: id.Name,
	}, fmt.Sprintf("the recorded deletion is of another user: to withdraw it, the verb override on %s is needed", id))
}

// withdrawal returns the entries that a change of a status removes from status.refused, and whether
// the change does nothing else.
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

// Withdrawn is a refused deletion that was removed from status.refused.
type Withdrawn struct {
	// Usage is the Usage that had the record.
	Usage object.ID
	// User asked for the deletion.
	User string
	// Time is when the deletion was refused first.
	Time metav1.Time
}

// Withdraw removes the refused deletions of an object from status.refused of every Usage, so
// that they are not replayed. The operator's webhook decides whether the user may do so.
// Withdraw reads the Usages of the whole cluster or, if the user has no right to that, of the
// object's namespace.
func Withdraw(ctx context.Context, c client.Client, id object.ID, uid types.UID) ([]Withdrawn, error) {
	var withdrawn []Withdrawn
	for _, k := range kinds {
		list, err := listUsages(ctx, c, k)
		if apierrors.IsForbidden(err) && id.Namespace != "" {
			list, err = listUsages(ctx, c, k, client.InNamespace(id.Namespace))
		}
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || apierrors.IsForbidden(err) {
			continue // The caller tells the user that such records stay.
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

// withdraw removes the refused deletions of an object from status.refused of one Usage.
func withdraw(ctx context.Context, c client.Client, u usage, uid types.UID) ([]Withdrawn, error) {
	var found []Withdrawn
	err := changeStatus(ctx, c, c, u, func(status *sharedv1alpha1.UsageStatus) {
		found = nil
		status.Refused = slices.DeleteFunc(status.Refused, func(r sharedv1alpha1.RefusedDeletion) bool {
			if r.Target.UID != uid {
				return false
			}
			found = append(found, Withdrawn{Usage: identify(u), User: r.User, Time: r.Time})
			return true
		})
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("withdraw from %s: %w", identify(u), err)
	}
	return found, nil
}
