package emulator

import (
	"crypto/md5" // a key's fingerprint
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var compute = &service{name: "compute", base: "/compute", root: "/compute/v2.1", body: novaError}

func (s *Server) nova() {
	for _, root := range []string{"GET /compute/v2.1", "GET /compute/v2.1/{$}"} {
		s.open(compute, root, func(*request) (any, error) {
			return object{"version": object{
				"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1",
				"links": anys(object{"rel": "self", "href": s.url + "/compute/v2.1/"}),
			}}, nil
		})
	}
	s.flavors()
	s.keypairs()
	s.serverGroups()
	s.servers()
	s.missing(compute)
}

var flavorID = regexp.MustCompile(`^[a-zA-Z0-9._-]([a-zA-Z0-9. _-]*[a-zA-Z0-9._-])?$`)

func (s *Server) flavors() {
	res := &resource{
		service: compute, table: "compute/flavors", name: "Flavor", path: "/flavors", single: "flavor", plural: "flavors",
		adminWrites: true, links: linkList, verb: http.MethodPut, created: http.StatusOK, deleted: http.StatusAccepted,
		attrs: attributes{
			"name": {text, create | required, nil}, "ram": {number, create | required, nil},
			"vcpus": {number, create | required, nil}, "disk": {number, create | required, nil},
			"id": {anything, create, nil}, "swap": {number, create, 0}, "rxtx_factor": {anything, create, 1.0},
			"OS-FLV-EXT-DATA:ephemeral": {number, create, 0}, "os-flavor-access:is_public": {flag, create, true},
			"description": {longText, cu | nullable, nil},
		},
		visible: func(rq *request, o object) bool { return rq.token.admin() || o.flag("os-flavor-access:is_public") },
		prepare: prepareFlavor,
		queries: []string{"limit", "marker", "is_public", "minRam", "minDisk", "sort_key", "sort_dir"},
		filter: func(rq *request, o object) bool {
			query := rq.URL.Query()
			public := strings.ToLower(query.Get("is_public"))
			if public == "" {
				public = "true"
			}
			return (public == "none" || equals(o["os-flavor-access:is_public"], public)) &&
				o.num("ram") >= atoi(query.Get("minRam")) && o.num("disk") >= atoi(query.Get("minDisk"))
		},
		view: func(_ *request, o object) object {
			o["OS-FLV-DISABLED:disabled"] = false
			if o.num("swap") == 0 {
				o["swap"] = 0
			}
			return o
		},
	}
	s.add(res)
	root := compute.root + "/flavors"
	s.guarded(compute, "GET "+root+"/detail", res.list)
	s.extraSpecs(res, root+"/{id}/os-extra_specs")
}

func prepareFlavor(rq *request, o object) error {
	id := textOf(o["_asked"])
	delete(o, "_asked")
	switch {
	case id == "" || id == "auto":
	case !flavorID.MatchString(id):
		return invalid("Invalid input for field/attribute id. Value: %s.", id)
	default:
		o["id"] = id
	}
	for key, least := range map[string]int{"ram": 1, "vcpus": 1, "disk": 0, "swap": 0, "OS-FLV-EXT-DATA:ephemeral": 0} {
		if o.num(key) < least {
			return invalid("Invalid input for field/attribute %s. Value: %d. It is less than the minimum of %d", key,
				o.num(key), least)
		}
	}
	for _, other := range rq.store().where("compute/flavors", nil) {
		if other.id() == o.id() || other.str("name") == o.str("name") {
			return conflicting("", "Flavor with name or ID %s already exists.", o.str("name"))
		}
	}
	o["extra_specs"] = object{}
	return nil
}

func (o object) sub(key string) object { return asObject(o[key]) }

func atoi(word string) int {
	value, err := toNumber("", word)
	if err != nil {
		return 0
	}
	return value.(int)
}

// extraSpecs serves the key-value pairs of flavors and volume types.
func (s *Server) extraSpecs(res *resource, path string) {
	on := func(verb, path string, do func(rq *request, o, specs object) (any, error)) {
		s.guarded(res.service, verb+" "+path, func(rq *request) (any, error) {
			o, err := res.find(rq, rq.PathValue("id"))
			if err != nil {
				return nil, err
			}
			if verb != http.MethodGet && !rq.token.admin() {
				return nil, forbidden("Policy doesn't allow extra specs to be changed.")
			}
			if verb != http.MethodGet && len(rq.store().by("volume/volumes", "volume_type", o.str("name"))) > 0 &&
				res.service == volume {
				return nil, invalid("Volume Type is currently in use.")
			}
			specs := o.sub("extra_specs")
			if specs == nil {
				specs = object{}
				o["extra_specs"] = specs
			}
			return do(rq, o, specs)
		})
	}
	on(http.MethodGet, path, func(_ *request, _, specs object) (any, error) { return object{"extra_specs": specs}, nil })
	on(http.MethodPost, path, func(rq *request, _, specs object) (any, error) {
		for key, value := range rq.body.sub("extra_specs") {
			if _, ok := value.(string); !ok {
				return nil, invalid("Invalid input for field/attribute %s. Value: %v is not a string.", key, value)
			}
			specs[key] = value
		}
		return reply{status: http.StatusOK, body: object{"extra_specs": rq.body["extra_specs"]}}, nil
	})
	on(http.MethodDelete, path+"/{key}", func(rq *request, _, specs object) (any, error) {
		key := rq.PathValue("key")
		if _, has := specs[key]; !has {
			return nil, refuse(http.StatusNotFound, "", "There is no extra spec with key %s.", key)
		}
		delete(specs, key)
		status := http.StatusOK
		if res.service.name == "volume" {
			status = http.StatusAccepted
		}
		return reply{status: status}, nil
	})
	on(http.MethodPut, path+"/{key}", func(rq *request, _, specs object) (any, error) {
		specs[rq.PathValue("key")] = rq.body[rq.PathValue("key")]
		return rq.body, nil
	})
}

// keypairs belong to their user, and their name is their ID.
func (s *Server) keypairs() {
	res := &resource{
		service: compute, table: "compute/keypairs", name: "Keypair", path: "/os-keypairs",
		single: "keypair", plural: "keypairs",
		attrs: attributes{
			"name": {text, create | required, nil}, "public_key": {longText, create | nullable, nil},
			"type": {text, create, "ssh"}, "user_id": {text, create | admin | nullable, nil},
		},
		prepare:  prepareKeypair,
		queries:  []string{"user_id", "limit", "marker"},
		view:     viewKeypair,
		unlisted: []string{"id", "user_id", "created_at", "updated_at", "deleted", "deleted_at"},
	}
	s.named[res.table] = res
	root := compute.root + "/os-keypairs"
	find := func(rq *request) (object, error) {
		user := rq.URL.Query().Get("user_id")
		if user == "" || !rq.token.admin() {
			user = rq.token.user
		}
		o := rq.store().get(res.table, user+"/"+rq.PathValue("name"))
		if o == nil {
			return nil, refuse(http.StatusNotFound, "", "Keypair %s not found for user %s", rq.PathValue("name"), user)
		}
		return o, nil
	}
	s.guarded(compute, "POST "+root, res.create)
	s.guarded(compute, "GET "+root, func(rq *request) (any, error) {
		if err := res.checkFilters(rq); err != nil {
			return nil, err
		}
		mine := rq.store().by(res.table, "user_id", rq.token.user)
		found := make([]any, 0, len(mine))
		for _, o := range mine {
			found = append(found, object{"keypair": res.item(rq, o)})
		}
		return object{"keypairs": found}, nil
	})
	s.guarded(compute, "GET "+root+"/{name}", func(rq *request) (any, error) {
		o, err := find(rq)
		if err != nil {
			return nil, err
		}
		return object{"keypair": res.show(rq, o)}, nil
	})
	s.guarded(compute, "DELETE "+root+"/{name}", func(rq *request) (any, error) {
		o, err := find(rq)
		if err == nil {
			rq.store().remove(res.table, o.id())
		}
		return nil, err
	})
}

func prepareKeypair(rq *request, o object) error {
	if o.str("user_id") == "" {
		o["user_id"] = rq.token.user
	}
	if kind := o.str("type"); kind != "ssh" && kind != "x509" {
		return invalid("Invalid input for field/attribute type. Value: %s.", kind)
	}
	raw := []byte(o.str("public_key"))
	if o["public_key"] != nil {
		fields := strings.Fields(o.str("public_key"))
		if len(fields) < 2 {
			return invalid("Keypair data is invalid: failed to generate fingerprint")
		}
		var err error
		if raw, err = base64.StdEncoding.DecodeString(fields[1]); err != nil {
			return invalid("Keypair data is invalid: failed to generate fingerprint")
		}
	}
	sum := md5.Sum(raw) // a key's fingerprint
	parts := make([]string, 0, len(sum))
	for _, b := range sum {
		parts = append(parts, hex.EncodeToString([]byte{b}))
	}
	o["fingerprint"] = strings.Join(parts, ":")
	o["created_at"], o["updated_at"] = stamp(compute, rq.now), nil
	o["deleted"], o["deleted_at"] = false, nil
	o["id"] = o.str("user_id") + "/" + o.str("name")
	if rq.store().get("compute/keypairs", o.id()) != nil {
		return conflicting("", "Key pair '%s' already exists.", o.str("name"))
	}
	return nil
}

// viewKeypair shows a number for the id, which Nova counts up; a client knows a key pair by
// its name.
func viewKeypair(_ *request, o object) object {
	o["id"] = 1
	return o
}

// serverGroups speak microversion 2.64: one policy, with rules.
func (s *Server) serverGroups() {
	policies := []string{"affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"}
	res := &resource{
		service: compute, table: "compute/server_groups", name: "ServerGroup", path: "/os-server-groups",
		single: "server_group", plural: "server_groups", created: http.StatusOK,
		attrs: attributes{
			"name": {text, create | required, nil}, "policy": {text, create | required, nil},
			"rules": {dict, create, object{}},
		},
		visible: owned,
		filter:  func(*request, object) bool { return true },
		queries: []string{"all_projects", "limit", "offset"},
		prepare: func(rq *request, o object) error {
			o["project_id"], o["user_id"], o["members"] = rq.token.project, rq.token.user, []any{}
			most := o.sub("rules")["max_server_per_host"]
			switch {
			case !slices.Contains(policies, o.str("policy")):
				return invalid("Invalid input for field/attribute policy. Value: %s.", o.str("policy"))
			case most != nil && o.str("policy") != "anti-affinity":
				return invalid("Only anti-affinity policy supports rules.")
			case most != nil && atoi(textOf(most)) < 1:
				return invalid("Invalid input for field/attribute max_server_per_host. Value: %v.", most)
			default:
				return nil
			}
		},
	}
	s.add(res)
}
