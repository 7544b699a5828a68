package reconcile

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsDenied reports whether the API server, a webhook or a policy refused a request: Forbidden,
// Invalid, BadRequest, or [IsVeto]. To repeat a denied request is of no use until the object or
// the policy changes. A webhook that does not answer is no denial, and neither is Conflict: a
// conflict most often means that another client changed the object. A caller that knows of no
// such change may take Conflict for a denial too.
func IsDenied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || IsVeto(err)
}

// IsVeto reports whether an admission webhook or a ValidatingAdmissionPolicy refused a request.
// A webhook may choose any status code, such as Invalid for a valid object, and may allow the
// same object later.
func IsVeto(err error) bool {
	if err == nil {
		return false
	}
	return strings.Contains(err.Error(), " denied the request") || // the message of a webhook,
		strings.Contains(err.Error(), " denied request") // and of a ValidatingAdmissionPolicy
}

// IsOvertaken reports whether a write failed because another client wrote first: the object has
// changed since it was read (Conflict), or exists already (AlreadyExists). Read the object
// again and repeat.
func IsOvertaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// IsSuperseded reports whether a write or DELETE with a UID came too late: the object was
// deleted (NotFound), or another object has its name ([IsAnother]). A watch reports both. Any other
// Conflict is not superseded: the object still lacks the write. The API server answers so when other
// clients write an object while it tries a PATCH without a resourceVersion five times.
func IsSuperseded(err error) bool { return apierrors.IsNotFound(err) || IsAnother(err) }

// aboutUID are the texts by which the API server says that a Conflict is about metadata.uid: of a
// DELETE (rest.BeforeDelete), of storage.Preconditions, and of an apply for an object that does not
// exist. A Conflict without such a text counts as a write to repeat.
var aboutUID = []string{"UID in the precondition", "UID in precondition", "uid mismatch"}

// IsAnother reports whether the API server refused a write or DELETE because no object of the name
// has the metadata.uid of the request.
func IsAnother(err error) bool {
	if apierrors.IsConflict(err) {
		return slices.ContainsFunc(aboutUID, func(text string) bool { return strings.Contains(err.Error(), text) })
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}
