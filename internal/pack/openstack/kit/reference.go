package kit

import (
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Need says how long an object needs the target of a [Reference].
type Need int

const (
	// Guarded needs the target as long as the object names the target: the object's kind has a
	// guard finalizer on the target. A Subnet needs its Network so.
	Guarded Need = iota
	// Once needs the target until the object's own resource is created: a Server needs its
	// Flavor so.
	Once
	// Content needs what a Secret contains, also when the Secret changes: a User needs its
	// password so.
	Content
	// Completed needs the target for an update, not for the creation. Two SecurityGroups whose
	// rules name each other are created first and completed then.
	Completed
)

// Reference declares that a field of one kind names objects of the kind Target. The kit derives
// the wait, the guard, the row in docs/relations.md, the field of the request body and the
// query parameter of a filter from the Reference.
type Reference struct {
	// Target is the kind that the field names, such as "Network" or "Secret".
	Target string
	// Field is the path of the field, such as "spec.resource.addresses[].subnetRef". If
	// spec.import.filter has a field of the same name, that field is a reference as well.
	Field string
	// Need says how long the object needs the target.
	Need Need
	// Body is the field of the request body that has the ID of the target's resource, such as
	// "network_id". Empty means that the actuator of the kind sends the ID itself.
	Body string
	// Query is the parameter by which spec.import.filter selects resources of the target, such
	// as "network_id". Empty means that the API has no such parameter.
	Query string
	// Opaque says that OpenStack reports another text than the ID in Body.
	Opaque bool
	// Guard replaces the kind in the name of the guard finalizer, such as "Trunk-Subport".
	Guard string
}

// References are the references of one kind, bound to the Go type of that kind.
type References struct {
	// Relations has the relation of the credentials first, then those of the spec, then those
	// of the filter. Messages name missing targets in this order.
	Relations []relation.Relation

	bound []boundReference
}

// boundReference is a [Reference] whose target is sent with requests.
type boundReference struct {
	Reference

	names func(external.Object) []string
}

const (
	resourcePrefix = "spec.resource."
	filterPrefix   = "spec.import.filter."
)

// Bind resolves the field paths of a kind's references. Bind panics if the kind has no such
// field.
func Bind[K external.Object](all []Reference) References {
	kind := KindOf[K]()
	var bound References
	add := func(r Reference) bool {
		names, found := namesAt[K](r.Field)
		if !found {
			return false
		}
		bound.Relations = append(bound.Relations, r.relation(kind, names))
		bound.bound = append(bound.bound, boundReference{r, names})
		return true
	}
	add(Reference{Target: SecretKind.Kind, Field: "spec.cloudCredentialsRef.secretName"})
	for _, r := range all {
		if !add(r) {
			panic("openstack: " + kind + " has no field " + r.Field)
		}
	}
	for _, r := range all {
		if name, isResource := strings.CutPrefix(r.Field, resourcePrefix); isResource {
			add(Reference{Target: r.Target, Field: filterPrefix + name, Need: Once, Query: r.Query})
		}
	}
	return bound
}

// relation returns the relation that a reference of a kind stands for.
func (r Reference) relation(kind string, names func(external.Object) []string) relation.Relation {
	source, target := GK(kind), GK(r.Target)
	if r.Target == SecretKind.Kind {
		target = SecretKind.GroupKind()
	}
	that := r.Target + " that " + r.Field + " names"
	made := relation.Relation{
		Name: strings.ToLower(kind) + "/" + r.Field, Role: relation.Dependency, Declarer: source,
		Target: target, Field: r.Field,
		Extract: relation.Typed(func(obj external.Object, _ relation.Kinds) []relation.Edge {
			return external.Named(obj, source, target, r.Field, names(obj)...)
		}),
	}
	switch r.Need {
	case Once:
		made.Once, made.Doc = true, "Every "+kind+" waits for the "+that+", until its resource is known."
	case Content:
		made.Reads, made.Doc = true, "Every "+kind+" uses what is in the "+that+"."
	case Completed:
		made.Later, made.Doc = true, "Every "+kind+" is completed once the "+that+" exists."
		made.Extract = withoutSelf(made.Extract)
	case Guarded:
		made.Finalizer, made.Doc = Finalizer(kind), "Every "+kind+" waits for the "+that+", which stays while it is named."
	}
	if r.Guard != "" {
		// The published operator applies all finalizers of a kind as one field manager. After a
		// move back that operator could not remove a finalizer of another field manager.
		made.Finalizer, made.FieldOwner = Finalizer(r.Guard), Finalizer(kind)+"controller"
	}
	return made
}

// withoutSelf leaves out the edges from an object to that object itself: the object need not
// wait for itself.
func withoutSelf(extract relation.Extractor) relation.Extractor {
	return func(obj client.Object, kinds relation.Kinds) []relation.Edge {
		return slices.DeleteFunc(extract(obj, kinds), func(e relation.Edge) bool { return e.Target.ID == e.Declarer })
	}
}

// ids returns the ids of the resources that a reference stands for, in the order of the names.
func (b boundReference) ids(obj external.Object, refs external.Refs) []string {
	return lists.Map(b.names(obj), func(name string) string { return refs.ID(GK(b.Target), name) })
}

// IDs returns the IDs of the resources that one field of an object refers to, such as
// "spec.resource.ports[].portRef" of a Server. IDs panics if no [Reference] has the field.
func IDs[K external.Object](in external.Input[K], r References, field string) []string {
	i := slices.IndexFunc(r.bound, func(b boundReference) bool { return b.Field == field })
	if i < 0 {
		panic("openstack: no Reference has the field " + field)
	}
	return r.bound[i].ids(in.Object, in.Refs)
}

// fields returns the fields of the request body that have IDs of targets. No ID can be changed
// after the creation.
func (r References) fields(obj external.Object, refs external.Refs) []Field {
	var all []Field
	for _, b := range r.bound {
		if b.Body == "" {
			continue
		}
		f := Fixed[string](b.Body, nil)
		if ids := b.ids(obj, refs); len(ids) > 0 {
			f = Fixed(b.Body, &ids[0])
		}
		f.opaque = b.Opaque
		all = append(all, f)
	}
	return all
}

// addTo adds the IDs of the targets of spec.import.filter to a query.
func (r References) addTo(query url.Values, obj external.Object, refs external.Refs) {
	for _, b := range r.bound {
		if b.Query != "" && strings.HasPrefix(b.Field, filterPrefix) {
			for _, id := range b.ids(obj, refs) {
				query.Set(b.Query, id)
			}
		}
	}
}
