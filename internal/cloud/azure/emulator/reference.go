package emulator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// referencesIn returns the references of a body: the ids of resources in resource groups, by
// [azure.ID.Key]. A key of a map can be a reference, as in identity.userAssignedIdentities. Tags,
// the resource's own id and ids below that id are no references.
func referencesIn(r *resource) map[string]string {
	refs := map[string]string{}
	for key, value := range r.body {
		if key != "tags" {
			collect(value, r.id, refs)
		}
	}
	return refs
}

func collect(value any, own azure.ID, refs map[string]string) {
	switch typed := value.(type) {
	case map[string]any:
		for key, inner := range typed {
			collect(key, own, refs)
			collect(inner, own, refs)
		}
	case []any:
		for _, inner := range typed {
			collect(inner, own, refs)
		}
	case string:
		if len(typed) == 0 || typed[0] != '/' {
			return
		}
		id, err := azure.ParseID(typed)
		if err == nil && id.ResourceGroup() != "" && !isBuiltIn(id) && !id.Within(own) && !own.Within(id) {
			refs[id.Key()] = typed
		}
	}
}

// isBuiltIn reports whether an id is that of a role definition. Azure has some hundred, in every scope.
func isBuiltIn(id azure.ID) bool {
	return strings.EqualFold(id.Type(), "Microsoft.Authorization/roleDefinitions")
}

// checkReferences refuses a PUT that names missing resources, or resources that are not
// provisioned. The refusal names the first such id in sorted order.
func (rq *request) checkReferences(_, next *resource) *refusal {
	for _, key := range slices.Sorted(maps.Keys(next.refs)) {
		text := next.refs[key]
		target, found := rq.target(text)
		switch {
		case !found && next.kind.Targets:
			return &refusal{
				status: http.StatusNotFound, code: "NotFound", reason: NoReference, target: text,
				message: "The entity was not found in this Azure location.",
			}
		case !found:
			return &refusal{
				status: http.StatusBadRequest, code: "InvalidResourceReference", reason: NoReference,
				details: []any{}, message: fmt.Sprintf("Resource %s referenced by resource %s was not found. Please "+
					"make sure that the referenced resource exists, and that both resources are in the same region.", text, next.id),
			}
		case !rq.isProvisioned(target):
			return retryable(NoReference, "ReferencedResourceNotProvisioned", service, 0, "Cannot proceed with operation "+
				"because resource %s used by resource %s is not in Succeeded state. Resource is in %s state and the last "+
				"operation that updated/is updating the resource is %s.", target.id, next.id, target.state, uuid.NewString())
		}
	}
	return nil
}

// isProvisioned reports whether another resource may refer to a resource: its operations have
// succeeded, and ARM is not deleting a parent.
func (rq *request) isProvisioned(r *resource) bool {
	for at := rq.store.get(r.id.Parent()); at != nil; at = rq.store.get(at.id.Parent()) {
		if at.running != nil && at.running.method == http.MethodDelete {
			return false
		}
	}
	return r.running == nil && r.state == "Succeeded"
}

// target returns the resource of an id. For the id of a backend pool, which is an object in the
// body of a load balancer, target returns the load balancer.
func (rq *request) target(text string) (*resource, bool) {
	id, err := azure.ParseID(text)
	if err != nil {
		return nil, false
	}
	var path [][2]string
	for at := id; !isPlace(at); at = at.Parent() {
		if r := rq.store.get(at); r != nil {
			slices.Reverse(path)
			return r, rq.has(r, path)
		}
		_, types, _ := strings.Cut(at.Type(), "/")
		path = append(path, [2]string{types[strings.LastIndexByte(types, '/')+1:], at.Name()})
	}
	return nil, false
}

// has reports whether the body of a resource has an object at a path of lists and names.
func (rq *request) has(r *resource, path [][2]string) bool {
	if len(path) == 0 {
		return true
	}
	if isGroup(r.id) {
		return false
	}
	in := mapOf(rq.render(r)["properties"])
	for _, step := range path {
		var next map[string]any
		for key, value := range in {
			list, _ := value.([]any)
			for _, element := range list {
				object := mapOf(element)
				if strings.EqualFold(key, step[0]) && strings.EqualFold(textOf(object["name"]), step[1]) {
					next = object
				}
			}
		}
		if next == nil {
			return false
		}
		in = mapOf(next["properties"])
	}
	return true
}

// used refuses the deletion of resources that other resources use.
func (s *Server) used(resources []*resource) *refusal {
	gone := map[string]bool{}
	for _, r := range resources {
		gone[r.id.Key()] = true
	}
	for _, r := range resources {
		if r.kind.InUse == nil {
			continue
		}
		if user := s.userOf(r, gone); user != nil {
			return &refusal{
				status: r.kind.InUse.Status, code: r.kind.InUse.Code, reason: Used, details: []any{},
				message: fmt.Sprintf("%s is in use by %s and cannot be deleted.", r.id, user.id),
			}
		}
	}
	return nil
}

// userOf returns the first resource, by id, that refers to a resource or to an object in its body.
func (s *Server) userOf(r *resource, gone map[string]bool) *resource {
	key := r.id.Key()
	var found *resource
	for other, user := range s.store.all {
		if gone[other] || (found != nil && found.id.Key() < other) {
			continue
		}
		for ref := range user.refs {
			if ref == key || strings.HasPrefix(ref, key+"/") {
				found = user
			}
		}
	}
	return found
}
