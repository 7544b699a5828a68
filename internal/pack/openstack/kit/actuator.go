package kit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Table describes the API of one kind of resources.
type Table[K external.Object] struct {
	// Service returns the client of the OpenStack service, such as Scope.Network.
	Service Service
	// References of the kind ([relation.Reference]). Requests and queries contain the IDs of
	// their targets.
	References References
	// Path is the path of the collection below the root of the service, such as "networks".
	Path string
	// One and Many are the JSON keys around one resource and a list, such as "network" and
	// "networks". One is empty if the API has no such key for one resource (Glance).
	One, Many string
	// Patch says that changes are sent with PATCH instead of PUT.
	Patch bool
	// Fields returns the fields of a resource as spec.resource wants them, besides the name and the IDs of
	// References.
	Fields func(external.Input[K]) []Field
	// Tags returns the tags that the spec wants; nil if the API has no PUT for tags.
	Tags func(K) []string
	// Specs returns the extra specs that the spec wants; nil if the API has none. Extra specs are pairs
	// below SpecsPath of a resource, such as "os-extra_specs", which need requests of their own.
	Specs     func(K) map[string]string
	SpecsPath string
	// Names has the names of OpenStack for fields of status.resource and of a filter, by JSON
	// name, if they differ from the snake case: {"external": "router:external"}.
	Names map[string]string
	// Serving are the values of the resource's field "status" with which the resource can be
	// used. Empty means that each resource can be used.
	Serving []string
	// Amend completes status.resource, which has the fields of the resource by their names; it may be nil.
	Amend func(K, *Resource)
	// Observe replaces [Table.Names], [Table.Serving] and [Table.Amend] for a kind whose status needs more;
	// it may be nil.
	Observe func(K, *Resource) reconcile.Outcome
	// Unfiltered says that the API has no filter, not even for names: the actuator lists all
	// resources and compares them.
	Unfiltered bool
	// Compared are the JSON names of the fields of spec.import.filter that the actuator compares
	// with each listed resource. All other fields are sent as query parameters.
	Compared []string
	// Adapt changes the query parameters for spec.import.filter; it may be nil.
	Adapt func(external.Input[K], url.Values)
	// Within are fields of the body that are also query parameters in the search of a created resource,
	// because its name alone does not find the resource.
	Within []string
	// Listed is the path of lists, if it differs from [Table.Path]: "servers/detail".
	Listed string
	// Always has query parameters for every list; it may be nil.
	Always url.Values
	// Place returns the owner of the resources, such as a region; nil means the project of the
	// credentials.
	Place func(*openstack.Scope) string
	// Along are fields that every update repeats unchanged, because the service would reset a
	// missing field.
	Along []string
	// NoName says that resources have no name, and NameFixed that no name can be changed.
	NoName, NameFixed bool
	// Dated says that resources have the field created_at.
	Dated bool
	// Chosen says that users choose the ids of resources, such as the id of a flavor.
	Chosen bool
	// Lingers is [external.Kind.Lingers].
	Lingers bool
	// Uses is [external.Kind.Uses]; it may be nil.
	Uses func(K) []external.Resource
	// Marked is the field with the UID of the object that a resource is created for:
	// "metadata", or a text such as "description", which is corrected once the ID is known.
	// Empty means that there is no such field.
	Marked string
	// Parts are parts of a resource that the kind's actuator changes, such as the rules of a SecurityGroup.
	Parts []Part[K]
	// Steady reports whether a resource can be compared with the spec; nil means always.
	Steady func(*Resource) bool
	// Vital is [external.Kind.Vital], and Alters is [external.Kind.Alters].
	Vital  []string
	Alters []schema.GroupKind
	// Wrap returns the actuator of a kind with requests that a Table can't describe; it may be nil.
	Wrap func(Actuator[K]) Requests[K]
}

// Part is a part of a resource that is compared apart from the fields.
type Part[K external.Object] struct {
	// Name is the name of the part in the result of [Table.Differs].
	Name string
	// Differs reports whether the part differs from the spec.
	Differs func(external.Input[K], *Resource) bool
}

// Requests are the requests for one kind of resources.
type Requests[K external.Object] = external.Actuator[K, *Resource]

// Actuator sends the requests that a [Table] describes.
type Actuator[K external.Object] struct {
	*Table[K]

	Client *gophercloud.ServiceClient
	// Connector reads the Secrets that an object names.
	Connector *Connector
	// project is the project ID of the credentials, if resources belong to a project.
	project string
	secret  string // withheld from errors
}

// tagsField is the name of the tags in the result of [Table.Differs].
const tagsField = "tags"

// URL returns the URL of the collection, or of a path below the collection.
func (a Actuator[K]) URL(parts ...string) string { return Address(a.Client, a.Path, parts...) }

// Address returns the URL of a path of a service, or of parts below that path. A part may be a name that a user chose,
// such as a key pair's, or an id that a cloud chose.
func Address(client *gophercloud.ServiceClient, path string, parts ...string) string {
	return client.ServiceURL(append([]string{path}, lists.Map(parts, url.PathEscape)...)...)
}

// Get implements external.Actuator.
func (a Actuator[K]) Get(ctx context.Context, _ external.Input[K], id string) (*Resource, error) {
	return a.Send(ctx, http.MethodGet, a.URL(id), nil)
}

// Find implements external.Actuator.
func (a Actuator[K]) Find(
	ctx context.Context, in external.Input[K], search external.Search,
) ([]*Resource, error) {
	if search.Imported {
		query := a.FilterQuery(in)
		if err := a.checkLists(in, query); err != nil {
			return nil, err
		}
		return a.Query(ctx, query, func(r *Resource) bool { return a.matches(in, r) })
	}
	query, wanted := url.Values{}, a.Wanted(in)
	for _, f := range wanted {
		if f.given && slices.Contains(a.Within, f.Name) {
			query.Set(f.Name, fmt.Sprint(f.Want))
		}
	}
	if !a.NoName && !a.Unfiltered {
		query.Set("name", search.Name)
	}
	return a.Query(ctx, query, func(r *Resource) bool {
		if !a.NoName && r.String("name") != search.Name {
			return false // Not every service can filter by name.
		}
		return a.Marked != "" || (!a.elsewhere(in, r) &&
			!slices.ContainsFunc(wanted, func(f Field) bool { return f.drifted(r) }))
	})
}

// elsewhere reports whether a resource belongs to another project than the credentials, and the
// spec names no project. An administrator's list has the resources of all projects.
func (a Actuator[K]) elsewhere(in external.Input[K], r *Resource) bool {
	project := r.String("project_id")
	asked := slices.ContainsFunc(a.Wanted(in), func(f Field) bool { return f.Name == "project_id" && f.given })
	return !asked && a.project != "" && project != "" && project != a.project
}

// List implements external.Lister.
func (a Actuator[K]) List(ctx context.Context) ([]*Resource, error) { return a.Query(ctx, nil, nil) }

// Create implements external.Actuator.
func (a Actuator[K]) Create(ctx context.Context, in external.Input[K]) (*Resource, error) {
	return a.Send(ctx, http.MethodPost, a.URL(), a.wrapped(a.Body(in)))
}

// Wanted returns the name, Table.Fields and the fields with IDs of references.
func (t *Table[K]) Wanted(in external.Input[K]) []Field {
	var name []Field
	if !t.NoName {
		name = []Field{{Name: "name", Want: Name(in.Object), given: true, fixed: t.NameFixed}}
	}
	return slices.Concat(name, t.Fields(in), t.References.fields(in.Object, in.Refs))
}

// Body returns the body of POST, without the key [Table.One].
func (a Actuator[K]) Body(in external.Input[K]) map[string]any {
	body := map[string]any{}
	for _, f := range a.Wanted(in) {
		if f.given {
			body[f.Name] = f.Want
		}
	}
	switch a.Marked {
	case "":
	case MetadataField:
		body[MetadataField] = Mark(in.Object, body[MetadataField])
	default:
		body[a.Marked] = textMark + string(in.Object.GetUID())
	}
	return body
}

// Differs returns the JSON names of the fields in which a resource differs from spec.resource.
func (t *Table[K]) Differs(in external.Input[K], r *Resource) []string {
	if t.Steady != nil && !t.Steady(r) {
		return nil
	}
	var names []string
	for _, f := range t.Wanted(in) {
		if f.differs(r) {
			names = append(names, f.Name)
		}
	}
	if t.Tags != nil && !Set(tagsField, t.Tags(in.Object)).matches(r) {
		names = append(names, tagsField)
	}
	if t.Specs != nil {
		if set, unset := Unlike(r, SpecsField, t.Specs(in.Object)); len(set)+len(unset) > 0 {
			names = append(names, SpecsField)
		}
	}
	for _, part := range t.Parts {
		if part.Differs(in, r) {
			names = append(names, part.Name)
		}
	}
	return names
}

// Drifts returns messages for the fields in which a resource differs from spec.resource and
// can't be changed.
func (t *Table[K]) Drifts(in external.Input[K], r *Resource) []string {
	var all []string
	for _, f := range t.Wanted(in) {
		if f.drifted(r) {
			all = append(all, fmt.Sprintf("%s is %s, not %s", f.Name, brief(r.Fields[f.Name]), brief(f.Want)))
		}
	}
	return all
}

// Update implements external.Actuator.
func (a Actuator[K]) Update(
	ctx context.Context, in external.Input[K], r *Resource, names []string,
) (*Resource, error) {
	id, body, before := r.String("id"), map[string]any{}, r
	for _, f := range a.Wanted(in) {
		if !f.fixed && slices.Contains(names, f.Name) {
			body[f.Name] = f.Want
		}
	}
	if len(body) > 0 {
		for _, name := range a.Along {
			if have := r.Fields[name]; have != nil {
				body[name] = have
			}
		}
		method := http.MethodPut
		if a.Patch {
			method = http.MethodPatch
		}
		updated, err := a.Send(ctx, method, a.URL(id), a.wrapped(body))
		if err != nil {
			return r, err
		}
		// Cinder's answer to an update, for example, has no project ID.
		fields := maps.Clone(r.Fields)
		maps.Copy(fields, updated.Fields)
		r = &Resource{fields}
	}
	if a.Specs != nil && slices.Contains(names, SpecsField) {
		if err := a.updateSpecs(ctx, in, before); err != nil {
			return r, err
		}
		return a.Get(ctx, in, id)
	}
	if a.Tags == nil || !slices.Contains(names, tagsField) { // With Glance and Keystone, the tags are a field.
		return r, nil
	}
	tags := append([]string{}, a.Tags(in.Object)...)
	if err := Call(ctx, a.Client, http.MethodPut, a.URL(id, tagsField), map[string]any{tagsField: tags}, nil); err != nil {
		return r, a.explain(err)
	}
	r = &Resource{maps.Clone(r.Fields)}
	r.Fields[tagsField] = normal(tags)
	return r, nil
}

// Delete implements external.Actuator.
func (a Actuator[K]) Delete(ctx context.Context, _ external.Input[K], id string) error {
	return a.explain(Call(ctx, a.Client, http.MethodDelete, a.URL(id), nil, nil))
}

// Send sends a request and returns the resource in its answer.
func (a Actuator[K]) Send(ctx context.Context, method, address string, body any) (*Resource, error) {
	var answer map[string]any
	if err := Call(ctx, a.Client, method, address, body, &answer); err != nil {
		return nil, a.explain(err)
	}
	fields, ok := answer[a.One].(map[string]any)
	if a.One == "" {
		fields, ok = answer, true
	}
	if !ok {
		return nil, fmt.Errorf("%s %s: the answer has no %s", method, address, a.One)
	}
	return &Resource{fields}, nil
}

// explain is [Explain] without the value of [Actuator.WithSecret].
func (a Actuator[K]) explain(err error) error { return external.Withhold(Explain(err), a.secret) }

// wrapped returns the body of a request, with the key [Table.One].
func (t *Table[K]) wrapped(fields map[string]any) map[string]any {
	if t.One == "" {
		return fields
	}
	return map[string]any{t.One: fields}
}

// Query lists the resources that keep accepts. A nil keep accepts all.
func (a Actuator[K]) Query(ctx context.Context, query url.Values, keep func(*Resource) bool) ([]*Resource, error) {
	address, values := a.Client.ServiceURL(cmp.Or(a.Listed, a.Path)), url.Values{}
	maps.Copy(values, a.Always)
	maps.Copy(values, query)
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	list := openstack.List{Address: address, Many: a.Many, Next: a.next}
	if keep != nil {
		list.Keep = func(item map[string]any) bool { return keep(a.listed(item)) }
	}
	items, err := list.Read(ctx, a.Client)
	if err != nil {
		return nil, a.explain(err)
	}
	return lists.Map(items, a.listed), nil
}

// listed returns the [Resource] of a list item.
func (t *Table[K]) listed(item map[string]any) *Resource {
	if wrapped, is := item[t.One].(map[string]any); is { // Nova wraps each key pair of a list.
		return &Resource{wrapped}
	}
	return &Resource{item}
}

// next returns the URL of the next page: Neutron and Nova have a list of links, Keystone has an
// object, and Glance has a path. next takes only the query of the link: proxies change scheme
// and host, and a cloud must not choose which host the operator calls.
func (a Actuator[K]) next(page map[string]any) string {
	address, _ := page["next"].(string)
	links, _ := page[a.Many+"_links"].([]any)
	for _, link := range links {
		if l, ok := link.(map[string]any); ok && l["rel"] == "next" {
			address, _ = l["href"].(string)
		}
	}
	if object, ok := page["links"].(map[string]any); ok && address == "" {
		address, _ = object["next"].(string)
	}
	if address == "" {
		return ""
	}
	_, query, _ := strings.Cut(address, "?")
	return a.Client.ServiceURL(cmp.Or(a.Listed, a.Path)) + "?" + query
}

// Identify returns ID, name and creation time of a resource, without a marker.
func Identify(r *Resource) external.Identity {
	created, _ := Moment(r.String("created_at")) // Not all resources have created_at.
	return external.Identity{ID: r.String("id"), Name: r.String("name"), Created: created}
}

// Identify returns ID, name, creation time and marker of a resource.
func (t *Table[K]) Identify(r *Resource) external.Identity {
	who := Identify(r)
	who.Marker, who.Unfinished = t.marker(r), t.hasTextMark(r)
	return who
}

// brief returns a value for a message.
func brief(value any) string {
	const most = 100
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + " ..."
	}
	return string(text)
}
