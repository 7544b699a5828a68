package emulator

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// render returns the body of a resource as ARM returns it.
func (rq *request) render(r *resource) map[string]any {
	out := withoutSecrets(r.kind.Name, runtime.DeepCopyJSON(r.body))
	rq.addDefaults(r, out)
	out["id"], out["name"], out["type"] = r.id.String(), r.id.Name(), r.kind.Name
	if r.location != "" {
		out["location"] = r.location
	}
	if r.kind.ETag == WeakETag {
		out["etag"] = rq.etagOf(r)
	}
	identity := mapOf(out["identity"])
	if strings.Contains(textOf(identity["type"]), "SystemAssigned") {
		identity["principalId"], identity["tenantId"] = r.guid, "00000000-0000-0000-0000-000000000000"
	}
	if r.kind.Stateless {
		return out
	}
	properties := mapOf(out["properties"])
	if properties == nil {
		properties = map[string]any{}
		out["properties"] = properties
	}
	if r.kind.SubObjects {
		rq.markObjects(r, properties, r.id.String(), r.kind.Name)
	}
	properties["provisioningState"] = cmp.Or(r.state, "Succeeded")
	for _, one := range r.kind.Embedded {
		list := []any{}
		for _, child := range rq.store.in(r.id) {
			if strings.EqualFold(child.kind.Name, one.Type) {
				list = append(list, rq.render(child))
			}
		}
		properties[one.Property] = list
	}
	return out
}

// addDefaults adds Type.Defaults that the body lacks.
func (rq *request) addDefaults(r *resource, out map[string]any) {
	replace := strings.NewReplacer(
		"{id}", r.id.String(), "{name}", r.id.Name(), "{location}", r.location, "{guid}", r.guid,
		"{time}", r.created.UTC().Format("2006-01-02T15:04:05.0000000Z"),
	)
	for _, one := range slices.Backward(r.kind.Defaults) { // A later row has the values of later versions.
		if one.Since > rq.version {
			continue
		}
		var values map[string]any
		if utiljson.Unmarshal([]byte(replace.Replace(one.JSON)), &values) == nil {
			merge(out, values)
		}
	}
}

// merge adds the values of keys that the body lacks.
func merge(into, values map[string]any) {
	for key, value := range values {
		inner, outer := mapOf(value), mapOf(into[key])
		switch _, has := into[key]; {
		case !has:
			into[key] = value
		case inner != nil && outer != nil:
			merge(outer, inner)
		}
	}
}

// markObjects gives the named objects in lists an id, a type, an etag and a provisioningState, as
// frontendIPConfigurations of a load balancer have.
func (rq *request) markObjects(r *resource, in map[string]any, id, typ string) {
	for key, value := range in {
		list, _ := value.([]any)
		for _, element := range list {
			object := mapOf(element)
			name := textOf(object["name"])
			if name == "" {
				continue
			}
			own, ownType := id+"/"+key+"/"+name, typ+"/"+key
			object["id"], object["type"], object["etag"] = own, ownType, rq.etagOf(r)
			properties := mapOf(object["properties"])
			if properties == nil {
				properties = map[string]any{}
				object["properties"] = properties
			}
			rq.markObjects(r, properties, own, ownType)
			properties["provisioningState"] = cmp.Or(r.state, "Succeeded")
		}
	}
}

// etagOf returns the etag of a resource, or "".
func (rq *request) etagOf(r *resource) string {
	mark := rq.store.outermost(r).mark
	switch r.kind.ETag {
	case WeakETag:
		return `W/"` + mark + `"`
	case HeaderETag:
		return `"0x8D` + strings.ToUpper(strings.ReplaceAll(mark, "-", ""))[:12] + `"`
	default:
		return ""
	}
}

func (rq *request) setETag(header http.Header, r *resource) {
	if etag := rq.etagOf(r); etag != "" {
		header.Set("ETag", etag)
	}
}

// embeddedChange has the changes of the children in the body of a parent's PUT.
type embeddedChange struct {
	put     []*resource
	removed []*resource
}

// planEmbedded reads the children in the body of a parent. The PUT removes each child that the body
// lacks, unless the child is in use.
func (rq *request) planEmbedded(old, next *resource) (embeddedChange, *refusal) {
	var change embeddedChange
	properties := mapOf(rq.body["properties"])
	for _, one := range next.kind.Embedded {
		value, given := properties[one.Property]
		list, _ := value.([]any)
		if old != nil && !given && one.KeptSince != "" && rq.version >= one.KeptSince {
			continue
		}
		kept := map[string]bool{}
		for _, element := range list {
			child, refused := rq.embeddedChild(next, one.Type, mapOf(element))
			if refused != nil {
				return embeddedChange{}, refused
			}
			kept[child.id.Key()] = true
			change.put = append(change.put, child)
		}
		for _, child := range rq.store.in(next.id) {
			if strings.EqualFold(child.kind.Name, one.Type) && !kept[child.id.Key()] {
				change.removed = append(change.removed, child)
			}
		}
	}
	return change, rq.used(change.removed)
}

// embeddedChild returns a child in the body of its parent.
func (rq *request) embeddedChild(parent *resource, typ string, body map[string]any) (*resource, *refusal) {
	id, err := parent.id.Child(typ, textOf(body["name"]))
	if err != nil {
		return nil, malformed("InvalidRequestFormat", "Cannot parse the request: %s.", err)
	}
	kind, _ := rq.types.Type(typ)
	within := *rq
	within.id, within.body = id, body
	child := within.drafted(kind, rq.store.get(id))
	return child, within.checkReferences(rq.store.get(id), child)
}

// apply puts and removes the children. The children share the operation of the parent.
func (c embeddedChange) apply(rq *request) {
	for _, child := range c.removed {
		rq.store.remove(child)
	}
	for _, child := range c.put {
		if old := rq.store.get(child.id); old != nil {
			*old = *child
			continue
		}
		child.created, child.state = rq.now, "Succeeded"
		rq.store.add(child)
	}
}

// withoutNulls removes nulls from a body, because ARM returns no nulls.
func withoutNulls(in map[string]any) map[string]any {
	maps.DeleteFunc(in, func(_ string, value any) bool { return value == nil })
	for _, value := range in {
		dropNulls(value)
	}
	return in
}

func dropNulls(value any) {
	switch typed := value.(type) {
	case map[string]any:
		withoutNulls(typed)
	case []any:
		for _, element := range typed {
			dropNulls(element)
		}
	}
}

func mapOf(value any) map[string]any {
	typed, _ := value.(map[string]any)
	return typed
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// isDeployment reports whether an id is the id of a template deployment.
func isDeployment(id azure.ID) bool { return strings.EqualFold(id.Type(), deploymentType) }
