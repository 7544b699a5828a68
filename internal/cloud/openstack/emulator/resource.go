package emulator

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// resource is a kind of object, such as networks: the form of its requests and its rules. All
// functions may be nil.
type resource struct {
	service *service
	// table is the name in Server.objects, as in network/ports; name is the noun in errors, as in
	// Port.
	table, name string
	// path follows service.root, as in /ports; single and plural are the keys of bodies, as in
	// {"port": {...}} and {"ports": [...]}.
	path, single, plural string
	attrs                attributes
	// verb of an update: PUT, PATCH, or none.
	verb string
	// adminWrites lets only administrators create, update and delete.
	adminWrites bool
	// created and deleted are the status codes of those answers, unless 201 and 204.
	created, deleted int
	// newID makes an ID; UUIDs when nil.
	newID func() string
	// visible reports whether the caller of a request sees an object, by request.token; nil means
	// that every caller does.
	visible func(*request, object) bool
	// prepare completes and checks a new object; stored runs when the object is in its table. A
	// 4xx from either leaves nothing behind.
	prepare func(*request, object) error
	stored  func(*request, object) error
	// change checks an update before it is applied.
	change func(rq *request, old, change object) error
	// remove checks a deletion and clears dependent state.
	remove func(*request, object) error
	// view returns the object as a client sees it, without keys such as _image. view may change the
	// copy that it gets.
	view func(*request, object) object
	// unlisted are fields that only GET of a single object has, and no list.
	unlisted []string
	// tags serves the tags of an object at /{id}/tags (registerTags).
	tags bool
	// filter reports whether an object passes the filters of a query; with nil, request.matches
	// compares attributes.
	filter func(*request, object) bool
	// extraFilters are keys of a query that are no attributes of a request.
	extraFilters []string
	// queries are the keys that a query may have, for services that refuse other keys with 400.
	queries []string
	// perPage is the default page size of a list; 0 is unlimited.
	perPage int
	// links writes the address of the next page.
	links func(answer object, plural, next string)
}

func (s *Server) register(res *resource) {
	root := res.service.root + res.path
	s.guarded(res.service, "GET "+root, res.list)
	s.guarded(res.service, "GET "+root+"/{id}", res.get)
	s.guarded(res.service, "POST "+root, res.create)
	s.guarded(res.service, "DELETE "+root+"/{id}", res.delete)
	if res.verb != "" {
		s.guarded(res.service, res.verb+" "+root+"/{id}", res.update)
	}
	if res.tags {
		s.registerTags(res, root+"/{id}/tags")
	}
}

func (res *resource) sees(rq *request, o object) bool {
	return res.visible == nil || res.visible(rq, o)
}

// find returns an object that resource.visible lets the caller see, or the error 404.
func (res *resource) find(rq *request, id string) (object, error) {
	o := rq.store().get(res.table, id)
	if o == nil || !res.sees(rq, o) {
		return nil, absent(res.name, id)
	}
	return o, nil
}

func (res *resource) show(rq *request, o object) object {
	shown := object{}
	for key, value := range o {
		if strings.HasPrefix(key, "_") || (res.attrs[key].access&hidden != 0 && !rq.token.admin()) {
			continue
		}
		shown[strings.TrimPrefix(key, quoted)] = value
	}
	if res.view != nil {
		shown = res.view(rq, shown)
	}
	return shown
}

// item returns an object in the form of a list, without resource.unlisted.
func (res *resource) item(rq *request, o object) object {
	shown := res.show(rq, o)
	for _, field := range res.unlisted {
		delete(shown, field)
	}
	return shown
}

func (res *resource) envelope(rq *request, o object) any {
	if res.single == "" {
		return res.show(rq, o) // Glance has no envelope.
	}
	return object{res.single: res.show(rq, o)}
}

func (res *resource) get(rq *request) (any, error) {
	o, err := res.find(rq, rq.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return res.envelope(rq, o), nil
}

func (res *resource) create(rq *request) (any, error) {
	given := rq.body
	if res.single != "" {
		var err error
		if given, err = rq.inside(res.single); err != nil {
			return nil, err
		}
	}
	o, err := res.make(rq, given)
	if err != nil {
		return nil, err
	}
	if res.created != 0 {
		return reply{status: res.created, body: res.envelope(rq, o)}, nil
	}
	return res.envelope(rq, o), nil
}

// make creates an object from a request.
func (res *resource) make(rq *request, given object) (object, error) {
	if res.adminWrites && !rq.token.admin() {
		return nil, forbidden("rule:create_%s is disallowed by policy", res.single)
	}
	o, err := res.attrs.accept(rq, given, create)
	if err != nil {
		return nil, err
	}
	if err := res.attrs.complete(o); err != nil {
		return nil, err
	}
	if asked, given := o["id"]; given && asked != nil {
		o["_asked"] = asked // Clients may choose ids of some kinds: a flavor, an image.
	}
	if res.newID == nil {
		o["id"] = uuid.NewString()
	} else {
		o["id"] = res.newID()
	}
	if res.prepare != nil {
		if err := res.prepare(rq, o); err != nil {
			return nil, err
		}
	}
	rq.store().put(res.table, o)
	if res.stored == nil {
		return o, nil
	}
	if err := res.stored(rq, o); err != nil {
		rq.store().remove(res.table, o.id())
		return nil, err
	}
	return o, nil
}

func (res *resource) update(rq *request) (any, error) {
	o, err := res.find(rq, rq.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if !res.mayWrite(rq, o) {
		return nil, forbidden("rule:update_%s is disallowed by policy", res.single)
	}
	given, err := rq.inside(res.single)
	if err != nil {
		return nil, err
	}
	change, err := res.attrs.accept(rq, given, update)
	if err != nil {
		return nil, err
	}
	if res.change != nil {
		if err := res.change(rq, o, change); err != nil {
			return nil, err
		}
	}
	maps.Copy(o, change)
	touch(rq, o)
	return res.envelope(rq, o), nil
}

// mayWrite reports whether a caller may change an object. A shared object is visible to others,
// and not writable.
func (res *resource) mayWrite(rq *request, o object) bool {
	if rq.token.admin() {
		return true
	}
	project, owned := o["project_id"].(string)
	return !res.adminWrites && (!owned || project == rq.token.project)
}

func (res *resource) delete(rq *request) (any, error) {
	o, err := res.find(rq, rq.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if !res.mayWrite(rq, o) {
		return nil, forbidden("rule:delete_%s is disallowed by policy", res.single)
	}
	if res.remove != nil {
		if err := res.remove(rq, o); err != nil {
			return nil, err
		}
	}
	rq.store().remove(res.table, o.id())
	if res.deleted != 0 {
		return reply{status: res.deleted}, nil
	}
	return nil, nil
}

func (res *resource) list(rq *request) (any, error) {
	if err := res.checkFilters(rq); err != nil {
		return nil, err
	}
	found := rq.store().where(res.table, func(o object) bool { return res.sees(rq, o) && res.passes(rq, o) })
	page, next, err := rq.page(found, res.perPage)
	if err != nil {
		return nil, err
	}
	shown := make([]any, 0, len(page))
	for _, o := range page {
		shown = append(shown, pick(res.item(rq, o), rq.URL.Query()["fields"]))
	}
	answer := object{res.plural: shown}
	if res.links != nil {
		res.links(answer, res.plural, next)
	}
	return answer, nil
}

// checkFilters refuses unknown filters, as Neutron does, and Nova since microversion 2.75.
// Other services ignore unknown filters.
func (res *resource) checkFilters(rq *request) error {
	for _, key := range sortedKeys(rq.URL.Query()) {
		if len(res.queries) > 0 && !slices.Contains(res.queries, key) {
			return invalid("Additional properties are not allowed ('%s' was unexpected)", key)
		}
	}
	if !rq.service.strict {
		return nil
	}
	for _, key := range sortedKeys(rq.URL.Query()) {
		_, known := res.attrs[key]
		if _, isTags := tagFilters[key]; isTags && res.tags {
			known = true
		}
		if !known && key != "id" && !slices.Contains(notFilters, key) && !slices.Contains(res.extraFilters, key) {
			return invalid("['%s'] is invalid attribute for filtering", key)
		}
	}
	return nil
}

func (res *resource) passes(rq *request, o object) bool {
	if res.filter != nil {
		return res.filter(rq, o)
	}
	return rq.matches(o, res.attrs)
}

// pick leaves only the fields that a query asks for, as in ?fields=id&fields=name.
func pick(o object, fields []string) object {
	if len(fields) == 0 {
		return o
	}
	picked := object{}
	for _, field := range fields {
		if value, ok := o[field]; ok {
			picked[field] = value
		}
	}
	return picked
}

// touch notes a change.
func touch(rq *request, o object) {
	if _, has := o["revision_number"]; has {
		o["revision_number"] = o.num("revision_number") + 1
	}
	if _, has := o["updated_at"]; has {
		o["updated_at"] = stamp(rq.service, rq.now)
	}
}

// registerTags serves the tags of Neutron's and Keystone's objects.
func (s *Server) registerTags(res *resource, path string) {
	on := func(pattern string, do func(rq *request, o object) (any, error)) {
		s.guarded(res.service, pattern, func(rq *request) (any, error) {
			o, err := res.find(rq, rq.PathValue("id"))
			if err != nil {
				return nil, err
			}
			return do(rq, o)
		})
	}
	on("GET "+path, func(_ *request, o object) (any, error) { return object{"tags": o.list("tags")}, nil })
	on("PUT "+path, func(rq *request, o object) (any, error) {
		list, ok := rq.body["tags"].([]any)
		if !ok {
			return nil, invalid("Invalid input for tags: a list is needed")
		}
		seen := []any{}
		for _, tag := range list {
			word, ok := tag.(string)
			if !ok || len(word) > 255 {
				return nil, invalid("Invalid input for tags. Reason: '%v' is not a tag", tag)
			}
			if !slices.Contains(seen, tag) {
				seen = append(seen, word)
			}
		}
		o["tags"] = seen
		touch(rq, o)
		return object{"tags": seen}, nil
	})
	on("DELETE "+path, func(rq *request, o object) (any, error) {
		o["tags"] = []any{}
		touch(rq, o)
		return nil, nil
	})
	on("GET "+path+"/{tag}", func(rq *request, o object) (any, error) {
		if !slices.Contains(o.strings("tags"), rq.PathValue("tag")) {
			return nil, absent("Tag", rq.PathValue("tag"))
		}
		return reply{status: http.StatusNoContent}, nil
	})
	on("PUT "+path+"/{tag}", func(rq *request, o object) (any, error) {
		if !slices.Contains(o.strings("tags"), rq.PathValue("tag")) {
			o["tags"] = append(o.list("tags"), rq.PathValue("tag"))
			touch(rq, o)
		}
		return reply{status: http.StatusCreated}, nil
	})
	on("DELETE "+path+"/{tag}", func(rq *request, o object) (any, error) {
		kept := slices.DeleteFunc(slices.Clone(o.list("tags")), func(tag any) bool { return tag == rq.PathValue("tag") })
		if len(kept) == len(o.list("tags")) {
			return nil, absent("Tag", rq.PathValue("tag"))
		}
		o["tags"] = kept
		touch(rq, o)
		return nil, nil
	})
}
