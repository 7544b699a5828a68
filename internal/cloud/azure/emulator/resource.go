package emulator

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// get answers GET.
func (rq *request) get() reply {
	if isPlace(rq.id) {
		return reply{status: http.StatusOK, body: map[string]any{
			"id": rq.id.String(), "name": rq.id.Name(), "type": rq.id.Type(), "subscriptionId": rq.id.Subscription(),
			"state": "Enabled",
		}}
	}
	r := rq.store.get(rq.id)
	if r == nil {
		return rq.absent("read").reply()
	}
	header := http.Header{}
	rq.setETag(header, r)
	if isDeployment(r.id) && r.running != nil {
		setRetryAfter(header, rq.seconds(r.running.flow.PollAfter))
	}
	return reply{status: http.StatusOK, header: header, body: rq.render(r)}
}

// absent is the refusal for a missing resource. The refusal names the outermost missing parent or,
// if all parents exist, the resource.
func (rq *request) absent(verb string) *refusal {
	refused := rq.missingOwner(rq.id, verb)
	if refused == nil {
		refused = noResource(pathOf(rq.id), rq.id.ResourceGroup())
		parent, provider := rq.id.Parent(), rq.id.Provider()
		switch {
		case isGroup(rq.id):
			refused = noGroup(rq.id.Name())
		case azure.IsChildType(rq.id.Type(), parent.Type()) && strings.EqualFold(provider, network):
			refused = &refusal{
				status: http.StatusNotFound, code: "NotFound", message: fmt.Sprintf("Resource %s not found.", rq.id),
				details: []any{},
			}
		}
	}
	refused.reason = Absent
	return refused
}

// missingOwner returns the refusal for the outermost missing parent, or nil.
func (rq *request) missingOwner(id azure.ID, verb string) *refusal {
	parent := id.Parent()
	if isPlace(parent) {
		return nil
	}
	if refused := rq.missingOwner(parent, verb); refused != nil {
		return refused
	}
	if rq.store.get(parent) != nil {
		return nil
	}
	kind, _ := rq.types.Type(rq.id.Type())
	switch {
	case isGroup(parent):
		return noGroup(parent.Name())
	case verb == "write" || kind.NamesParent:
		_, types, _ := strings.Cut(rq.id.Type(), "/")
		refused := noParent(verb, types, parent.String())
		refused.reason = NoOwner
		return refused
	default:
		return noResource(pathOf(parent), parent.ResourceGroup())
	}
}

// isGroup reports whether an id is the id of a resource group: the id has an ID.ResourceGroup(),
// and is in a subscription.
func isGroup(id azure.ID) bool {
	return id.ResourceGroup() != "" && id.Scope() == azure.SubscriptionScope
}

// pathOf returns the type and the names of a resource in the form of ARM's messages:
// Microsoft.Network/virtualNetworks/net/subnets/one.
func pathOf(id azure.ID) string {
	parts := strings.Split(id.Type(), "/")
	path := parts[:1:1]
	for i, name := range id.Names() {
		path = append(path, parts[i+1], name)
	}
	return strings.Join(path, "/")
}

// put answers the PUT of a resource.
func (rq *request) put() reply {
	if isPlace(rq.id) {
		return malformed("OperationNotAllowed", "A %s can't be put.", rq.id.Type()).reply()
	}
	kind, _ := rq.types.Type(rq.id.Type())
	old := rq.store.get(rq.id)
	next := rq.drafted(kind, old)
	embedded, refused := rq.checkPut(old, next)
	if refused != nil {
		return refused.reply()
	}
	flow := kind.Create
	if old == nil {
		next.created = rq.now
		rq.store.add(next)
	} else {
		flow = kind.Update
		*old = *next
		next = old
	}
	embedded.apply(rq)
	next.state = flow.State
	rq.store.touch(next)
	return rq.accepted(rq.begin(next, flow), next, old == nil)
}

// drafted returns the resource that a PUT requests.
func (rq *request) drafted(kind Type, old *resource) *resource {
	next := &resource{id: rq.id, kind: kind, guid: uuid.NewString(), body: map[string]any{}}
	if old != nil {
		*next = *old
		next.kind = kind
	}
	next.body = withoutNulls(runtime.DeepCopyJSON(rq.body))
	next.location = normalize(textOf(rq.body["location"]))
	for _, own := range []string{"id", "name", "type", "etag", "location"} {
		delete(next.body, own)
	}
	if properties := mapOf(next.body["properties"]); properties != nil {
		delete(properties, "provisioningState")
		for _, one := range kind.Embedded {
			delete(properties, one.Property)
		}
	}
	next.refs = referencesIn(next)
	return next
}

// checkPut refuses a PUT, or returns the embeddedChange of the children in the body.
func (rq *request) checkPut(old, next *resource) (embeddedChange, *refusal) {
	if refused := rq.missingOwner(rq.id, "write"); refused != nil {
		refused.reason = NoOwner
		return embeddedChange{}, refused
	}
	for _, check := range []func(old, next *resource) *refusal{
		rq.checkCondition, rq.checkGroup, checkLocation, rq.checkBusy, rq.checkChildren, rq.checkOwner, rq.checkReferences,
	} {
		if refused := check(old, next); refused != nil {
			return embeddedChange{}, refused
		}
	}
	return rq.planEmbedded(old, next)
}

// checkCondition refuses a request whose If-Match or If-None-Match does not hold.
func (rq *request) checkCondition(old, _ *resource) *refusal {
	match, none := rq.header.Get("If-Match"), rq.header.Get("If-None-Match")
	var present string
	if old != nil {
		present = rq.etagOf(old)
	}
	if (match != "" && (old == nil || match != "*" && match != present)) || (none == "*" && old != nil) {
		return &refusal{
			status: http.StatusPreconditionFailed, code: "PreconditionFailed", reason: Busy,
			message: fmt.Sprintf("The condition of the request for %s does not hold: its etag is %s.", rq.id, present),
		}
	}
	return nil
}

// checkGroup refuses requests for resources in a resource group that is being deleted.
func (rq *request) checkGroup(_, _ *resource) *refusal {
	for at := rq.id; !at.IsTenant(); at = at.Parent() {
		if r := rq.store.get(at); r != nil && isGroup(at) && r.running != nil && r.running.method == http.MethodDelete {
			refused := conflict(NoOwner, "ResourceGroupBeingDeleted",
				"The resource group '%s' is in deprovisioning state and cannot perform this operation.", at.Name())
			refused.cause = gateway
			return refused
		}
	}
	return nil
}

// checkBusy refuses a request while another operation is running.
func (rq *request) checkBusy(old, next *resource) *refusal {
	r := next
	if old != nil {
		r = old
	}
	if r.kind.Exclusive != Shared {
		if changing := rq.changingChild(r.id.Parent()); changing != nil {
			return rq.excluded(r.kind.Exclusive, changing)
		}
	}
	if old != nil && old.running != nil {
		return rq.anotherOperation(old.running)
	}
	return nil
}

// changingChild returns a child of a resource that is being changed, of a type with [Type.Exclusive], or nil.
func (rq *request) changingChild(parent azure.ID) *resource {
	for _, child := range rq.store.in(parent) {
		if child.kind.Exclusive != Shared && child.running != nil {
			return child
		}
	}
	return nil
}

// checkChildren refuses a PUT of a resource while a child with [Type.Exclusive] is being changed.
func (rq *request) checkChildren(_, _ *resource) *refusal {
	if changing := rq.changingChild(rq.id); changing != nil {
		return rq.excluded(changing.kind.Exclusive, changing)
	}
	return nil
}

// excluded refuses a change of a resource while an operation of a sibling, or of a child, is running.
func (rq *request) excluded(how Exclusion, changing *resource) *refusal {
	switch parent := changing.id.Parent(); how {
	case Retryable:
		return retryable(Busy, "RetryableErrorDueToAnotherOperation", service, 11,
			"Operation %s is updating resource %s. The call can be retried in 11 seconds.", uuid.NewString(), parent)
	case Serving:
		return conflict(Busy, "Conflict", "The resource '%s' is busy processing a previous update request or is undergoing "+
			"system maintenance. As such, it is currently unable to accept the update request. Please try again later.", parent)
	default:
		return rq.anotherOperation(changing.running)
	}
}

func (rq *request) anotherOperation(op *operation) *refusal {
	refused := conflict(Busy, "AnotherOperationInProgress", "Another operation on this or dependent resource is in "+
		"progress. To retrieve status of the operation use uri: %s.", rq.host+op.status)
	refused.details = []any{}
	return refused
}

// checkOwner refuses a PUT in a parent that is not provisioned.
func (rq *request) checkOwner(_, _ *resource) *refusal {
	parent := rq.store.get(rq.id.Parent())
	if parent == nil || parent.running == nil || !azure.IsChildType(rq.id.Type(), parent.kind.Name) {
		return nil
	}
	refused := rq.anotherOperation(parent.running)
	refused.reason = NoOwner
	return refused
}

// delete answers DELETE.
func (rq *request) delete() reply {
	r := rq.store.get(rq.id)
	if r == nil {
		if refused := rq.missingOwner(rq.id, "delete"); refused != nil || isGroup(rq.id) {
			return rq.absent("delete").reply()
		}
		// For the client, 204 is no refusal; Server.refused counts a DELETE of a missing resource.
		return reply{status: http.StatusNoContent, refusal: &refusal{status: http.StatusNoContent, reason: Absent}}
	}
	if r.running != nil && r.running.method == http.MethodDelete {
		return rq.accepted(r.running, r, false)
	}
	for _, check := range []func(old, next *resource) *refusal{
		rq.checkCondition, rq.checkBusy, rq.checkNested, rq.checkUsers,
	} {
		if refused := check(r, r); refused != nil {
			return refused.reply()
		}
	}
	r.state = "Deleting"
	if r.kind.Delete.State != "" {
		r.state = r.kind.Delete.State
	}
	op := rq.begin(r, r.kind.Delete)
	return rq.accepted(op, r, false)
}

// checkNested refuses to delete a resource with children if Type.KeepsNested is set.
func (rq *request) checkNested(r, _ *resource) *refusal {
	for _, child := range rq.store.in(r.id) {
		if r.kind.KeepsNested && azure.IsChildType(child.kind.Name, r.kind.Name) {
			refused := conflict(Used, "CannotDeleteResource", "Cannot delete resource while nested resources exist. Some "+
				"existing nested resource IDs include: '%s'. Please delete all nested resources before deleting this resource.",
				pathOf(child.id))
			refused.cause = gateway
			return refused
		}
	}
	return nil
}

// checkUsers refuses to delete a resource that other resources use.
func (rq *request) checkUsers(r, _ *resource) *refusal {
	if isGroup(r.id) { // A resource group takes all its resources along; see settle.
		return nil
	}
	return rq.used(rq.store.below(r))
}
