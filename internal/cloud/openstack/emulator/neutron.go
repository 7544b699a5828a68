package emulator

import (
	"maps"
	"net/http"
	"strings"
)

var network = &service{
	name: "network", base: "/network", root: "/network/v2.0", strict: true, body: neutronError,
}

// standard are the attributes that all kinds of Neutron have, such as project_id and description.
var standard = attributes{
	"name":        {text, cu, ""},
	"description": {text, cu, ""},
	"tenant_id":   {text, create | admin, nil},
	"project_id":  {text, create | admin, nil},
}

// neutronExtensions are the extensions that the openstack pack uses, or could use.
var neutronExtensions = []string{
	"address-scope", "allowed-address-pairs", "binding", "dns-integration", "external-net", "filter-validation",
	"net-mtu", "net-mtu-writable", "pagination", "port-security", "project-id", "provider", "quotas",
	"revision-if-match", "router", "ext-gw-mode", "security-group", "sorting", "standard-attr-description",
	"standard-attr-revisions", "standard-attr-tag", "standard-attr-timestamp", "stateful-security-group",
	"subnet-dns-publish-fixed-ip", "tag-ports-during-bulk-creation", "trunk", "trunk-details",
	"uplink-status-propagation",
}

func (s *Server) neutron() {
	for _, root := range []string{"GET /network", "GET /network/{$}"} {
		s.open(network, root, func(*request) (any, error) {
			return object{"versions": anys(object{
				"id": "v2.0", "status": "CURRENT", "links": anys(object{"rel": "self", "href": s.url + "/network/v2.0/"}),
			})}, nil
		})
	}
	s.guarded(network, "GET "+network.root+"/extensions", func(*request) (any, error) {
		found := make([]any, 0, len(neutronExtensions))
		for _, alias := range neutronExtensions {
			found = append(found, object{"alias": alias, "name": alias})
		}
		return object{"extensions": found}, nil
	})
	s.add(networks(), subnets(), ports(), routers(), securityGroups(), rules(), floatingIPs(), addressScopes(), trunks())
	s.routerActions()
	s.trunkActions()
	s.quotas()
	s.missing(network)
}

// neutronKind fills in the common parts of Neutron's kinds: visibility for the owner,
// revisions, times, tags and a quota.
func neutronKind(res *resource) *resource {
	res.service, res.verb, res.tags = network, http.MethodPut, true
	res.table, res.path = "network/"+res.plural, "/"+strings.ReplaceAll(res.plural, "_", "-")
	res.links = linkList
	res.extraFilters = append(res.extraFilters, "tenant_id", "project_id", "revision_number", "status")
	res.attrs = standard.with(res.attrs)
	if res.visible == nil {
		res.visible = owned
	}
	prepare, change, remove := res.prepare, res.change, res.remove
	res.prepare = func(rq *request, o object) error {
		rq.fillProject(o)
		if err := rq.withinQuota(res, o.str("project_id")); err != nil {
			return err
		}
		now := stamp(network, rq.now)
		o["revision_number"], o["created_at"], o["updated_at"] = 1, now, now
		if o["tags"] == nil {
			o["tags"] = []any{}
		}
		if prepare == nil {
			return nil
		}
		return prepare(rq, o)
	}
	res.change = func(rq *request, old, changes object) error {
		if err := matchRevision(rq, old); err != nil {
			return err
		}
		if change == nil {
			return nil
		}
		return change(rq, old, changes)
	}
	res.remove = func(rq *request, o object) error {
		if err := matchRevision(rq, o); err != nil {
			return err
		}
		if remove == nil {
			return nil
		}
		return remove(rq, o)
	}
	return res
}

// fillProject fills in the project, which Neutron spells in two ways.
func (rq *request) fillProject(o object) {
	project := o.str("project_id")
	if project == "" {
		project = o.str("tenant_id")
	}
	if project == "" {
		project = rq.token.project
	}
	o["project_id"], o["tenant_id"] = project, project
}

// matchRevision keeps If-Match: revision_number=N.
func matchRevision(rq *request, o object) error {
	want := rq.Header.Get("If-Match")
	if revision, ok := strings.CutPrefix(want, "revision_number="); ok && !equals(o["revision_number"], revision) {
		return refuse(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed",
			"Constrained to %s, but current revision is %d", revision, o.num("revision_number"))
	}
	return nil
}

// owned is resource.visible for objects that only callers of their project_id and administrators
// see.
func owned(rq *request, o object) bool {
	return rq.token.admin() || o.str("project_id") == rq.token.project
}

// quotas serves the limits of a project: -1 until a client sets limits.
func (s *Server) quotas() {
	path := network.root + "/quotas/{project}"
	limits := func(rq *request, project string) object {
		shown := object{}
		for _, table := range []string{
			"network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule", "trunk",
		} {
			shown[table] = -1
		}
		for key, value := range rq.store().get("network/quotas", project) {
			if _, known := shown[key]; known {
				shown[key] = value
			}
		}
		return shown
	}
	s.guarded(network, "GET "+path, func(rq *request) (any, error) {
		return object{"quota": limits(rq, rq.PathValue("project"))}, nil
	})
	s.guarded(network, "PUT "+path, func(rq *request) (any, error) {
		if !rq.token.admin() {
			return nil, forbidden("rule:update_quota is disallowed by policy")
		}
		given, err := rq.inside("quota")
		if err != nil {
			return nil, err
		}
		project := rq.PathValue("project")
		kept := object{"id": project, "_own": true}
		maps.Copy(kept, limits(rq, project))
		maps.Copy(kept, given)
		rq.store().put("network/quotas", kept)
		return object{"quota": limits(rq, project)}, nil
	})
	s.guarded(network, "DELETE "+path, func(rq *request) (any, error) {
		rq.store().remove("network/quotas", rq.PathValue("project"))
		return nil, nil
	})
}

func (rq *request) withinQuota(res *resource, project string) error {
	limits := rq.store().get("network/quotas", project)
	if limits == nil || limits[res.single] == nil || limits.num(res.single) < 0 {
		return nil
	}
	if used := rq.store().by(res.table, "project_id", project); len(used) >= limits.num(res.single) {
		return conflicting("OverQuota", "Quota exceeded for resources: ['%s'].", res.single)
	}
	return nil
}

func addressScopes() *resource {
	return neutronKind(&resource{
		single: "address_scope", plural: "address_scopes", name: "AddressScope",
		attrs: attributes{
			"ip_version": {number, create | required, nil}, "shared": {flag, cu | admin, false},
		},
		visible: func(rq *request, o object) bool { return owned(rq, o) || o.flag("shared") },
		prepare: func(_ *request, o object) error { return knownVersion(o) },
		change: func(_ *request, old, change object) error {
			if shared, given := change["shared"].(bool); given && old.flag("shared") && !shared {
				return conflictingScope(old)
			}
			return nil
		},
		view: func(_ *request, o object) object {
			for _, key := range []string{"description", "revision_number", "created_at", "updated_at", "tags"} {
				delete(o, key) // This kind has no standard attributes.
			}
			return o
		},
	})
}

func conflictingScope(o object) error {
	return refuse(http.StatusBadRequest, "AddressScopeUpdateError",
		"Unable to update address scope %s : Shared address scope can't be unshared", o.id())
}

func knownVersion(o object) error {
	if v := o.num("ip_version"); v != 4 && v != 6 {
		return invalid("Invalid input for ip_version. Reason: '%d' is not in [4, 6].", v)
	}
	return nil
}
