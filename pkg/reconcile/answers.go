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
// deleted (NotFound), or another object has its name (Conflict, or [IsAnother]). A watch
// reports both.
func IsSuperseded(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || IsAnother(err)
}

// IsAnother reports whether the API server refused a write because another object has the name:
// the write would have changed metadata.uid.
func IsAnother(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}
