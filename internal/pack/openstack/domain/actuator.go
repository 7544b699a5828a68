// Package domain is the kind Domain of the openstack pack, for /v3/domains of Keystone.
package domain

import (
	"context"
	"net/http"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Domain

// Table describes the requests for Domains.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Identity, References: kit.Bind[object](nil),
	Place: (*openstack.Scope).Cloud,
	Path:  "domains", One: "domain", Many: "domains", Patch: true, Fields: fields,
	Wrap: func(a kit.Actuator[object]) kit.Requests[object] { return actuator{a} },
}

// actuator disables a domain before DELETE: Keystone refuses to delete an enabled domain.
type actuator struct{ kit.Actuator[object] }

// Delete implements external.Actuator.
func (a actuator) Delete(ctx context.Context, in external.Input[object], id string) error {
	body := map[string]any{a.One: map[string]any{"enabled": false}}
	if _, err := a.Send(ctx, http.MethodPatch, a.URL(id), body); err != nil {
		return err
	}
	return a.Actuator.Delete(ctx, in, id)
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Default("enabled", r.Enabled, true),
	}
}
