// Package routerinterface is the kind RouterInterface of the openstack pack. Its resource is
// the port that Neutron creates when a subnet is added to a router.
package routerinterface

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

const kind = "RouterInterface"

type object = *openstackv1alpha1.RouterInterface

// References are the [kit.Reference] values of a RouterInterface.
var References = kit.Bind[object]([]kit.Reference{
	{Target: "Router", Field: "spec.routerRef"},
	{Target: "Subnet", Field: "spec.subnetRef"},
})

// New returns the [external.Kind] of RouterInterface.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return external.Kind[object, *kit.Resource]{
		GVK: kit.GVK(kind), Relations: References.Relations, Identify: kit.Identify, Name: kit.Name[object], Observe: observe,
		Dated: true, Cloud: openstack.CloudOf,
		Shared: func(in external.Input[object]) string {
			router, subnet := ids(in)
			return router + " " + subnet
		},
		Differs: func(external.Input[object], *kit.Resource) []string { return nil },
		Site:    site,
		Connect: func(ctx context.Context, in external.Input[object]) (external.Access[object, *kit.Resource], error) {
			return connect(ctx, c, in)
		},
	}
}

// site returns the cloud of the Router from status, without reading the Secret.
func site(_ context.Context, in external.Input[object]) (string, error) {
	router, ok := in.Refs.Object(kit.GK("Router"), string(in.Object.Spec.RouterRef)).(*openstackv1alpha1.Router)
	if !ok {
		return "", nil // Connect returns the error.
	}
	return openstack.CloudOf(router.GetExternalStatus().Place), nil
}

// connect uses the credentials of the Router.
func connect(
	ctx context.Context, c *kit.Connector, in external.Input[object],
) (access external.Access[object, *kit.Resource], err error) {
	name := string(in.Object.Spec.RouterRef)
	router, ok := in.Refs.Object(kit.GK("Router"), name).(*openstackv1alpha1.Router)
	if !ok {
		return access, &external.Error{Class: external.Refused, Message: "Router/" + name + " does not exist"}
	}
	ref := router.Spec.CloudCredentialsRef
	connection, err := c.Connect(ctx, in.Object.Namespace, "", ref, (*openstack.Scope).Network)
	if known, ok := errors.AsType[*external.Error](err); ok && known.Class == external.Invalid {
		known.Class = external.Refused // A change of the Secret requeues the Router, and not the RouterInterface.
	}
	if err != nil {
		return access, err
	}
	// A RouterInterface has no onDelete, so its resource is never left in the cloud, and its
	// Place is not needed.
	connection.Place = ""
	return kit.Access(connection, actuator{kit.Actuator[object]{Table: &ports, Client: connection.Client}}), nil
}

// ports describes the requests for the port of the router interface.
var ports = kit.Table[object]{Path: "ports", One: "port", Many: "ports"}

type actuator struct{ kit.Actuator[object] }

func (a actuator) change(in external.Input[object], what string) string {
	return kit.Address(a.Client, "routers", in.Refs.ID(kit.GK("Router"), string(in.Object.Spec.RouterRef)), what)
}

// ids returns the IDs of the router and the subnet.
func ids(in external.Input[object]) (router, subnet string) {
	return in.Refs.ID(kit.GK("Router"), string(in.Object.Spec.RouterRef)), *kit.ID(in, "Subnet", in.Object.Spec.SubnetRef)
}

// Find implements external.Actuator. A subnet has at most one interface to a router.
func (a actuator) Find(
	ctx context.Context, in external.Input[object], search external.Search,
) ([]*kit.Resource, error) {
	router, subnet := ids(in)
	query := url.Values{"device_id": {router}, "fixed_ips": {"subnet_id=" + subnet}}
	if adopt := in.Object.Spec.Adopt; search.Imported && adopt != nil && adopt.ID != nil {
		query.Set("id", string(*adopt.ID))
	}
	return a.Query(ctx, query, func(port *kit.Resource) bool {
		// Distributed and highly available routers have other values of device_owner.
		owner := port.String("device_owner")
		return strings.Contains(owner, "router_") && owner != "network:router_gateway"
	})
}

// Create implements external.Actuator.
func (a actuator) Create(ctx context.Context, in external.Input[object]) (*kit.Resource, error) {
	var answer map[string]any
	body := map[string]any{"subnet_id": kit.ID(in, "Subnet", in.Object.Spec.SubnetRef)}
	if err := kit.Call(ctx, a.Client, http.MethodPut, a.change(in, "add_router_interface"), body, &answer); err != nil {
		return nil, kit.Explain(err)
	}
	made := &kit.Resource{Fields: map[string]any{"id": answer["port_id"]}}
	if port, err := a.Get(ctx, in, made.String("id")); err == nil {
		return port, nil
	}
	return made, nil // The port exists, even if GET failed.
}

// Delete implements external.Actuator.
func (a actuator) Delete(ctx context.Context, in external.Input[object], id string) error {
	body := map[string]any{"port_id": id}
	return kit.Explain(kit.Call(ctx, a.Client, http.MethodPut, a.change(in, "remove_router_interface"), body, nil))
}

// observe writes no status.resource: status.id is all that there is. A RouterInterface is
// available once its port is ACTIVE.
func observe(_ object, r *kit.Resource) reconcile.Outcome { return kit.Status(r, "ACTIVE") }
