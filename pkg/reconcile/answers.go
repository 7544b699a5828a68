package reconcile

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsDenied reports whether an error is a judgement of the API server, or of somebody that
// it asks, who may word it as whatever failure. To repeat what was denied helps nothing
// until they think otherwise. That somebody did not answer is no judgement, and neither is
// a conflict, which most often means that the object has changed: who knows that it has
// not may take that for one too.
func IsDenied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || IsVeto(err)
}

// IsVeto reports whether an error is a judgement of somebody that the API server asks, a
// webhook or a policy. He may word it as whatever failure, as of an object that is not
// valid, and may think otherwise tomorrow, about the same object.
func IsVeto(err error) bool {
	if err == nil {
		return false
	}
	return strings.Contains(err.Error(), " denied the request") || // So begin webhooks' answers,
		strings.Contains(err.Error(), " denied request") // and those of policies.
}

// IsOvertaken reports whether a write failed because another writer was first: the object has
// changed since it was read, or exists already. Read it again and repeat.
func IsOvertaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

// IsSuperseded reports whether a write or deletion that names a uid came too late: the object
// that was meant is gone, or another object has its name. A watch reports both.
func IsSuperseded(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || IsAnother(err)
}

// IsAnother reports whether the API server refused a write because another object has the
// name of the one that was meant: to it, a uid that can't change was to change.
func IsAnother(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}
