// Package applicationcredential is the kind ApplicationCredential of the openstack pack, for
// /v3/users/USER_ID/application_credentials of Keystone. The actuator reads the secret from the
// Secret of spec.resource.secretRef for POST, and does not keep the value. No field of an
// application credential can be changed.
package applicationcredential

import (
	"context"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
)

type object = *openstackv1alpha1.ApplicationCredential

// References are the [kit.Reference] values of an ApplicationCredential.
var References = kit.Bind[object]([]kit.Reference{
	{Target: "User", Field: "spec.resource.userRef"},
	{Target: "Role", Field: "spec.resource.roleRefs"},
	{Target: "Service", Field: "spec.resource.accessRules[].serviceRef"},
	// An ApplicationCredential needs its Secret for POST only: Keystone has no request to
	// change the secret.
	{Target: "Secret", Field: "spec.resource.secretRef", Need: kit.Once},
})

// New returns the [external.Kind] of ApplicationCredential.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Connect = func(ctx context.Context, in external.Input[object]) (external.Access[object, *kit.Resource], error) {
		connection, err := kit.For(ctx, c, in, (*openstack.Scope).Identity)
		if err != nil {
			return external.Access[object, *kit.Resource]{}, err
		}
		whose := user(in)
		if whose == "" { // spec.import.id names no user, and Keystone shows only the credentials of the caller.
			whose = connection.Scope.UserID
		}
		mine := table
		mine.Path = "users/" + url.PathEscape(whose) + "/application_credentials"
		connection.Key, connection.Place = connection.Key+whose, "user "+whose+" of "+connection.Scope.Cloud()
		sender := kit.Actuator[object]{Table: &mine, Client: connection.Client, Connector: c}
		return kit.Access(connection, actuator{sender}), nil
	}
	return k
}

// table has no Path: the path of the collection contains the user ID.
var table = kit.Table[object]{
	Service: (*openstack.Scope).Identity, References: References, Amend: amend,
	One: "application_credential", Many: "application_credentials", Fields: fields, NameFixed: true,
	Compared: []string{"description"}, // Keystone can filter by name only.
}

// user returns the ID of the user of an ApplicationCredential (userRef).
func user(in external.Input[object]) string {
	var name openstackv1alpha1.KubernetesNameRef
	if r := in.Object.GetResource(); r != nil {
		name = r.UserRef
	} else if f := in.Object.GetFilter(); f != nil {
		name = f.UserRef
	}
	return *kit.ID(in, "User", &name)
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	all := []kit.Field{
		kit.Fixed("description", r.Description),
		kit.Fixed("unrestricted", r.Unrestricted),
	}
	if r.ExpiresAt != nil {
		text := r.ExpiresAt.UTC().Format(timeFormat)
		all = append(all, kit.Fixed("expires_at", &text))
	}
	if len(r.RoleRefs) > 0 {
		all = append(all, kit.Set("roles", roles(in)).Fixed())
	}
	if len(r.AccessRules) > 0 {
		all = append(all, kit.Set("access_rules", rules(in)).Fixed())
	}
	return all
}

func roles(in external.Input[object]) []map[string]string {
	ids := kit.IDs(in, References, "spec.resource.roleRefs")
	return lists.Map(ids, func(id string) map[string]string { return map[string]string{"id": id} })
}

// rules returns spec.resource.accessRules for Keystone, with the type of the Service in place
// of serviceRef.
func rules(in external.Input[object]) []map[string]string {
	wanted := in.Object.Spec.Resource.AccessRules
	return lists.Map(wanted, func(rule openstackv1alpha1.ApplicationCredentialAccessRule) map[string]string {
		one := map[string]string{}
		if rule.Path != nil {
			one["path"] = *rule.Path
		}
		if rule.Method != nil {
			one["method"] = *rule.Method
		}
		if rule.ServiceRef != nil {
			service, _ := in.Refs.Object(kit.GK("Service"), string(*rule.ServiceRef)).(*openstackv1alpha1.Service)
			if service != nil && service.Status.Resource != nil {
				one["service"] = service.Status.Resource.Type
			}
		}
		return one
	})
}

// actuator adds the secret to POST.
type actuator struct{ kit.Actuator[object] }

// Create implements external.Actuator.
func (a actuator) Create(ctx context.Context, in external.Input[object]) (*kit.Resource, error) {
	ref := string(in.Object.Spec.Resource.SecretRef)
	secret, err := a.Connector.Secret(ctx, in.Object.Namespace, ref, "value")
	if err != nil {
		return nil, err
	}
	r, err := a.WithSecret("secret", secret).Create(ctx, in)
	if err == nil {
		delete(r.Fields, "secret") // Keystone returns the secret in the answer to POST only.
		return r, nil
	}
	return r, a.refusal(ctx, in, err)
}

// refusal returns the error of a failed creation. If two application credentials of a user with
// the same access rule are created at the same moment, Keystone says for one of them that the
// name exists ("Duplicate entry"). Then no credential has the name, and the next attempt
// succeeds.
func (a actuator) refusal(ctx context.Context, in external.Input[object], err error) error {
	if len(in.Object.Spec.Resource.AccessRules) == 0 || !external.IsInvalid(err) ||
		!strings.Contains(err.Error(), "Duplicate entry") {
		return err
	}
	found, failed := a.Find(ctx, in, external.Search{Name: in.Object.GetResourceName()})
	if failed != nil || len(found) > 0 {
		return err
	}
	return &external.Error{Class: external.Refused, Message: "OpenStack refuses the same access rule of two " +
		"application credentials that are created at once: " + err.Error()}
}

// timeFormat is the format of expires_at in Keystone: UTC without a zone.
const timeFormat = "2006-01-02T15:04:05.000000"

func amend(o object, r *kit.Resource) {
	if at, err := time.Parse(timeFormat, r.String("expires_at")); err == nil {
		o.Status.Resource.ExpiresAt = &metav1.Time{Time: at}
	}
}
