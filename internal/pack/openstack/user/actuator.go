// Package user is the kind User of the openstack pack, for /v3/users of Keystone. The actuator
// reads the password from the Secret of spec.resource.passwordRef for each request, and does
// not keep it.
package user

import (
	"context"
	"slices"
	"time"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

type object = *openstackv1alpha1.User

// Table describes the requests for Users.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Identity, Observe: observe,
	Place: (*openstack.Scope).Cloud,
	Path:  "users", One: "user", Many: "users", Patch: true, Fields: fields,
	Parts: []kit.Part[object]{{Name: passwordField, Differs: passwordDiffers}},
	Wrap:  func(a kit.Actuator[object]) kit.Requests[object] { return actuator{a} },
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "domain_id"},
		{Target: "Project", Field: "spec.resource.defaultProjectRef", Body: "default_project_id"},
		{Target: "Secret", Field: "spec.resource.passwordRef", Need: kit.Content},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Default("enabled", r.Enabled, true),
	}
}

const (
	// passwordField is the name of the password in the result of Table.Differs, and its key in the
	// Secret.
	passwordField = "password"
	// applied is a field that withPassword adds to a resource: the name of the Secret with the
	// password.
	applied = "applied_password_ref"
)

// passwordDiffers can't compare the password, because Keystone never shows it. The password is set
// again if passwordRef names another Secret, or the Secret has another resourceVersion, than at
// the last update.
func passwordDiffers(in external.Input[object], r *kit.Resource) bool {
	ref := in.Object.Spec.Resource.PasswordRef
	return ref != nil && r.String(applied) != string(*ref) && !in.Used(kit.SecretKind.GroupKind(), string(*ref))
}

// actuator sets the password in addition to the fields.
type actuator struct{ kit.Actuator[object] }

// Create implements external.Actuator.
func (a actuator) Create(ctx context.Context, in external.Input[object]) (*kit.Resource, error) {
	if in.Object.Spec.Resource.PasswordRef == nil {
		return a.Actuator.Create(ctx, in)
	}
	return a.withPassword(ctx, in, func(a kit.Actuator[object]) (*kit.Resource, error) { return a.Create(ctx, in) })
}

// Update implements external.Actuator.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, names []string,
) (*kit.Resource, error) {
	if !slices.Contains(names, passwordField) {
		return a.Actuator.Update(ctx, in, r, names)
	}
	return a.withPassword(ctx, in, func(a kit.Actuator[object]) (*kit.Resource, error) {
		return a.Update(ctx, in, r, names)
	})
}

// withPassword sends a request with the password.
func (a actuator) withPassword(
	ctx context.Context, in external.Input[object], request func(kit.Actuator[object]) (*kit.Resource, error),
) (*kit.Resource, error) {
	ref := string(*in.Object.Spec.Resource.PasswordRef)
	password, err := a.Connector.Secret(ctx, in.Object.Namespace, ref, passwordField)
	if err != nil {
		return nil, err
	}
	r, err := request(a.WithSecret(passwordField, password))
	if err == nil {
		r.Fields[applied] = ref
	}
	return r, err
}

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
