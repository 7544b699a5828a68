package emulator

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

var identity = &service{name: "identity", base: "/identity", root: "/identity/v3", body: keystoneError}

func keystoneID() string { return randomHex(16) }

// keystoneKind fills in the common parts of Keystone's kinds.
func keystoneKind(res *resource) *resource {
	res.service, res.table = identity, "identity/"+res.plural
	res.path = "/" + res.plural
	res.newID, res.verb, res.adminWrites = keystoneID, http.MethodPatch, true
	res.links = func(answer object, plural, next string) {
		answer["links"] = object{"next": nil, "previous": nil, "self": identity.root + "/" + plural}
		if next != "" {
			asObject(answer["links"])["next"] = next
		}
	}
	if view := res.view; view == nil {
		res.view = func(rq *request, o object) object {
			o["links"] = object{"self": rq.cloud.URL() + identity.root + "/" + res.plural + "/" + o.id()}
			return o
		}
	}
	return res
}

func (s *Server) keystone() {
	version := object{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links": anys(object{"rel": "self", "href": s.url + "/identity/v3/"}),
	}
	for _, root := range []string{"GET /identity", "GET /identity/{$}"} {
		s.open(identity, root, func(*request) (any, error) {
			return reply{status: http.StatusMultipleChoices, body: object{"versions": object{"values": anys(version)}}}, nil
		})
	}
	for _, root := range []string{"GET /identity/v3", "GET /identity/v3/{$}"} {
		s.open(identity, root, func(*request) (any, error) { return object{"version": version}, nil })
	}
	s.open(identity, "POST /identity/v3/auth/tokens", s.issueToken)
	s.guarded(identity, "GET /identity/v3/auth/tokens", s.showToken)
	s.guarded(identity, "DELETE /identity/v3/auth/tokens", s.revokeToken)
	s.add(domains(), projects(), users(), groups(), roles(), services(), endpoints(), regions())
	s.grants()
	s.credentials()
	s.missing(identity)
}

var named = attributes{
	"name":        {text, cu | required, nil},
	"description": {longText, cu, ""},
}

func domains() *resource {
	return keystoneKind(&resource{
		single: "domain", plural: "domains", name: "Domain",
		attrs: named.with(attributes{
			"enabled": {flag, cu, true}, "tags": {list, cu, []any{}}, "options": {dict, cu, object{}},
		}),
		prepare: uniqueName("identity/domains"),
		change:  renames("identity/domains"),
		remove: func(rq *request, o object) error {
			if o.flag("enabled") {
				return forbidden("Cannot delete a domain that is enabled, please disable it first.")
			}
			for _, table := range []string{"identity/projects", "identity/users", "identity/groups", "identity/roles"} {
				for _, inner := range rq.store().by(table, "domain_id", o.id()) {
					rq.store().remove(table, inner.id())
				}
			}
			return nil
		},
	})
}

func projects() *resource {
	return keystoneKind(&resource{
		single: "project", plural: "projects", name: "Project", tags: true,
		attrs: named.with(attributes{
			"domain_id": {text, create | nullable, nil}, "parent_id": {text, create | nullable, nil},
			"enabled": {flag, cu, true}, "is_domain": {flag, create, false}, "tags": {list, cu, []any{}},
			"options": {dict, cu, object{}},
		}),
		prepare: func(rq *request, o object) error {
			if o["domain_id"] == nil {
				o["domain_id"] = "default"
			}
			if o["parent_id"] == nil {
				o["parent_id"] = o["domain_id"]
			}
			if rq.store().get("identity/domains", o.str("domain_id")) == nil {
				return invalid("Could not find domain: %s.", o.str("domain_id"))
			}
			if !rq.domainEnabled(o) {
				return invalid("cannot create a project in a branch containing a disabled project: %s", o.str("domain_id"))
			}
			return uniqueName("identity/projects")(rq, o)
		},
		change: func(rq *request, old, change object) error {
			enabled, given := change["enabled"].(bool)
			if !old.flag("enabled") && (enabled || !given) && !rq.domainEnabled(old) { // A request without the field enables.
				return refuse(http.StatusForbidden, "", "Cannot enable project %s since it has disabled parents", old.id())
			}
			return renames("identity/projects")(rq, old, change)
		},
		remove: dropGrants,
	})
}

// domainEnabled reports whether the domain of a project is enabled.
func (rq *request) domainEnabled(project object) bool {
	return rq.store().get("identity/domains", project.str("domain_id")).flag("enabled")
}

func users() *resource {
	return keystoneKind(&resource{
		single: "user", plural: "users", name: "User",
		attrs: named.with(attributes{
			"domain_id": {text, create, "default"}, "enabled": {flag, cu, true}, "password": {text, cu | nullable, nil},
			"default_project_id": {text, cu | nullable, nil}, "options": {dict, cu, object{}},
			"email": {text, cu | nullable, nil},
		}),
		prepare: func(rq *request, o object) error {
			keepPassword(o, o)
			o["password_expires_at"] = nil
			return inDomain("identity/users")(rq, o)
		},
		change: func(rq *request, old, change object) error {
			keepPassword(old, change)
			return renames("identity/users")(rq, old, change)
		},
		remove: func(rq *request, o object) error {
			for _, c := range rq.store().by("identity/application_credentials", "_user", o.id()) {
				rq.store().remove("identity/application_credentials", c.id())
			}
			maps.DeleteFunc(rq.cloud.tokens, func(_ string, t *token) bool { return t.user == o.id() })
			return dropGrants(rq, o)
		},
	})
}

// keepPassword moves a password to a key that is never printed.
func keepPassword(o, given object) {
	if password, ok := given["password"].(string); ok {
		o["_password"] = password
	}
	delete(given, "password")
}

func groups() *resource {
	return keystoneKind(&resource{
		single: "group", plural: "groups", name: "Group",
		attrs:   named.with(attributes{"domain_id": {text, create, "default"}}),
		prepare: inDomain("identity/groups"), change: renames("identity/groups"), remove: dropGrants,
	})
}

func roles() *resource {
	return keystoneKind(&resource{
		single: "role", plural: "roles", name: "Role",
		attrs: attributes{
			"name": {text, cu | required, nil}, "description": {longText, cu | nullable, nil},
			"domain_id": {text, create | nullable, nil}, "options": {dict, cu, object{}},
		},
		// Whether there is such a domain, Keystone doesn't look.
		prepare: uniqueName("identity/roles"),
		change:  renames("identity/roles"), remove: dropGrants,
		filter: func(rq *request, o object) bool {
			// Without a domain, the list has only roles without a domain.
			if rq.URL.Query().Get("domain_id") == "" && o["domain_id"] != nil {
				return false
			}
			return rq.matches(o, nil)
		},
	})
}

func services() *resource {
	return keystoneKind(&resource{
		single: "service", plural: "services", name: "Service",
		attrs: attributes{
			"name": {text, cu, ""}, "type": {text, cu | required, nil}, "description": {longText, cu, nil},
			"enabled": {flag, cu, true},
		},
		prepare: func(_ *request, o object) error {
			if o["description"] == nil { // Keystone keeps the given keys and adds none.
				delete(o, "description")
			}
			return nil
		},
		remove: func(rq *request, o object) error {
			for _, endpoint := range rq.store().by("identity/endpoints", "service_id", o.id()) {
				rq.store().remove("identity/endpoints", endpoint.id())
			}
			return nil
		},
	})
}

func endpoints() *resource {
	check := func(rq *request, o object) error {
		if id := o.str("service_id"); rq.store().get("identity/services", id) == nil {
			return invalid("Expecting to find endpoint service_id in service table.")
		}
		if region := o.str("region"); region != "" {
			o["region_id"] = region
		}
		o["region"] = o["region_id"]
		return nil
	}
	return keystoneKind(&resource{
		single: "endpoint", plural: "endpoints", name: "Endpoint",
		attrs: attributes{
			"interface": {text, cu | required, nil}, "service_id": {text, cu | required, nil},
			"url": {longText, cu | required, nil}, "region_id": {text, cu | nullable, nil},
			"region": {text, create | nullable, nil}, "enabled": {flag, cu, true}, "name": {text, cu, ""},
			"description": {text, cu, ""},
		},
		prepare: func(rq *request, o object) error {
			if err := knownInterface(o); err != nil {
				return err
			}
			return check(rq, o)
		},
		change: func(_ *request, _, change object) error { return knownInterface(change) },
	})
}

func knownInterface(o object) error {
	if word, given := o["interface"].(string); given && !slices.Contains([]string{"public", "internal", "admin"}, word) {
		return invalid("Invalid input for field 'interface': '%s' is not one of public, internal, admin", word)
	}
	return nil
}

func regions() *resource {
	return keystoneKind(&resource{
		single: "region", plural: "regions", name: "Region",
		attrs: attributes{"description": {text, cu, ""}, "parent_region_id": {text, cu | nullable, nil}},
	})
}

// uniqueName refuses a second object with the same name.
func uniqueName(table string) func(*request, object) error {
	return func(rq *request, o object) error {
		if err := nameLength(table, o.str("name")); err != nil {
			return err
		}
		for _, other := range rq.store().by(table, "name", o.str("name")) {
			if other.id() != o.id() && other["domain_id"] == o["domain_id"] {
				return conflicting("Conflict", "Conflict occurred attempting to store %s - Duplicate entry found with name %s.",
					strings.TrimSuffix(strings.TrimPrefix(table, "identity/"), "s"), o.str("name"))
			}
		}
		return nil
	}
}

func nameLength(table, name string) error {
	limit := 255
	if table == "identity/projects" || table == "identity/domains" || table == "identity/groups" {
		limit = 64
	}
	if name == "" || len(name) > limit {
		return invalid("Invalid input for field 'name': '%s' is too short or too long", name)
	}
	return nil
}

// inDomain is uniqueName within a domain, which must exist.
func inDomain(table string) func(*request, object) error {
	return func(rq *request, o object) error {
		if domain := o.str("domain_id"); domain != "" && rq.store().get("identity/domains", domain) == nil {
			return absent("Domain", domain)
		}
		return uniqueName(table)(rq, o)
	}
}

// renames refuses a change to a name in use.
func renames(table string) func(*request, object, object) error {
	return func(rq *request, old, change object) error {
		if _, renamed := change["name"]; !renamed {
			return nil
		}
		return uniqueName(table)(rq, object{"id": old.id(), "name": change["name"], "domain_id": old["domain_id"]})
	}
}

// catalog lists the endpoints for a project.
func (rq *request) catalog(project string) []any {
	services := rq.store().where("identity/services", func(o object) bool { return o.flag("enabled") })
	catalog := make([]any, 0, len(services))
	for _, svc := range services {
		found := []any{}
		for _, endpoint := range rq.store().by("identity/endpoints", "service_id", svc.id()) {
			if !endpoint.flag("enabled") {
				continue
			}
			found = append(found, object{
				"id": endpoint.id(), "interface": endpoint["interface"], "region": endpoint["region"],
				"region_id": endpoint["region_id"],
				"url":       strings.ReplaceAll(endpoint.str("url"), "$(project_id)s", project),
			})
		}
		catalog = append(catalog, object{"id": svc.id(), "type": svc["type"], "name": svc["name"], "endpoints": found})
	}
	return catalog
}
