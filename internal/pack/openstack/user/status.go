package user

import (
	"time"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a User, which is available as soon as it exists.
func observe(u object, r *kit.Resource) reconcile.Outcome {
	before := u.Status.Resource
	u.Status.Resource = &openstackv1alpha1.UserResourceStatus{}
	kit.Report(r, u.Status.Resource, nil)
	if at, ok := kit.Moment(u.Status.Resource.PasswordExpiresAt); ok {
		u.Status.Resource.PasswordExpiresAt = at.Format(time.RFC3339)
	}
	if before != nil && u.Status.Resource.AppliedPasswordRef == "" { // Keystone does not return the field.
		u.Status.Resource.AppliedPasswordRef = before.AppliedPasswordRef
	}
	return reconcile.Outcome{}
}
