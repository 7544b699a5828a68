package emulator

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

var volume = &service{name: "volume", base: "/volume", root: "/volume/v3/{tenant}", body: novaError}

func (s *Server) cinder() {
	for _, root := range []string{"GET /volume/v3", "GET /volume/v3/{$}"} {
		s.open(volume, root, func(*request) (any, error) {
			return reply{status: http.StatusOK, body: object{"versions": anys(object{
				"id": "v3.0", "status": "CURRENT", "version": "3.70", "min_version": "3.0",
				"links": anys(object{"rel": "self", "href": s.url + "/volume/v3/"}),
			})}}, nil
		})
	}
	s.volumeTypes()
	s.volumes()
	s.missing(volume)
}

func (s *Server) volumeTypes() {
	res := &resource{
		service: volume, table: "volume/types", name: "VolumeType", path: "/types",
		single: "volume_type", plural: "volume_types", verb: http.MethodPut, adminWrites: true, links: linkList,
		created: http.StatusOK, deleted: http.StatusAccepted, perPage: 1000,
		attrs: attributes{
			"name": {text, cu | required, nil}, "description": {text, cu | nullable, nil},
			"os-volume-type-access:is_public": {flag, create, true}, "is_public": {flag, update, nil},
			"extra_specs": {dict, create, object{}},
		},
		visible: func(rq *request, o object) bool { return rq.token.admin() || o.flag("is_public") },
		prepare: func(rq *request, o object) error {
			o["is_public"] = o["os-volume-type-access:is_public"]
			return uniqueType(rq, o)
		},
		change: func(rq *request, old, change object) error {
			if public, given := change["is_public"]; given {
				change["os-volume-type-access:is_public"] = public
			}
			if _, renamed := change["name"]; !renamed {
				return nil
			}
			return uniqueType(rq, object{"id": old.id(), "name": change["name"]})
		},
		remove: func(rq *request, o object) error {
			if len(rq.store().by("volume/volumes", "volume_type", o.str("name"))) > 0 {
				return invalid("Target volume type is still in use.")
			}
			return nil
		},
		filter: func(rq *request, o object) bool {
			word := strings.ToLower(rq.URL.Query().Get("is_public"))
			if word == "" {
				word = "true"
			}
			return word == "none" || equals(o["is_public"], word)
		},
	}
	s.add(res)
	s.extraSpecs(res, volume.root+"/types/{id}/extra_specs")
}

func uniqueType(rq *request, o object) error {
	if o.str("name") == "" {
		return invalid("Invalid input for field/attribute name. It is too short")
	}
	for _, other := range rq.store().by("volume/types", "name", o.str("name")) {
		if other.id() != o.id() {
			return conflicting("", "Volume Type %s already exists.", o.str("name"))
		}
	}
	return nil
}

func (s *Server) volumes() {
	res := &resource{
		service: volume, table: "volume/volumes", name: "Volume", path: "/volumes",
		single: "volume", plural: "volumes", verb: http.MethodPut, links: linkList,
		created: http.StatusAccepted, deleted: http.StatusAccepted, perPage: 1000,
		attrs: attributes{
			"name": {text, cu | nullable, nil}, "description": {text, cu | nullable, nil}, "size": {number, create, nil},
			"volume_type": {text, create | nullable, nil}, "availability_zone": {text, create | nullable, nil},
			"imageRef": {text, create | nullable, nil}, "metadata": {dict, cu, object{}},
			"snapshot_id": {text, create | nullable, nil}, "source_volid": {text, create | nullable, nil},
			"multiattach": {flag, create, false},
		},
		visible: func(rq *request, o object) bool { return rq.token.admin() || o.str("project_id") == rq.token.project },
		prepare: prepareVolume,
		filter:  filterVolume,
		view: func(rq *request, o object) object {
			if !rq.token.admin() || rq.Method != http.MethodGet {
				delete(o, "os-vol-host-attr:host")
			}
			if rq.Method != http.MethodGet { // Cinder's extensions add the field when a volume is read.
				delete(o, "os-vol-tenant-attr:tenant_id")
			}
			delete(o, "imageRef")
			delete(o, "project_id")
			return o
		},
	}
	s.named[res.table] = res
	root := volume.root + "/volumes"
	s.guarded(volume, "POST "+root, res.create)
	s.guarded(volume, "GET "+root, res.list)
	s.guarded(volume, "GET "+root+"/detail", res.list)
	s.guarded(volume, "GET "+root+"/{id}", res.get)
	s.guarded(volume, "PUT "+root+"/{id}", res.update)
	s.guarded(volume, "DELETE "+root+"/{id}", func(rq *request) (any, error) { return deleteVolume(res, rq) })
	s.guarded(volume, "POST "+root+"/{id}/action", func(rq *request) (any, error) { return resetStatus(res, rq) })
	s.metadata(res, root+"/{id}/metadata")
}

func filterVolume(rq *request, o object) bool {
	query := rq.URL.Query()
	if query.Get("all_tenants") == "" && o.str("project_id") != rq.token.project {
		return false
	}
	for _, key := range []string{"name", "status", "availability_zone", "size", "bootable"} {
		if query.Has(key) && textOf(o[key]) != query.Get(key) {
			return false
		}
	}
	return true
}

func prepareVolume(rq *request, o object) error {
	if o.num("size") < 1 {
		return invalid("Invalid input for field/attribute size. Value: %v. It must be at least 1", o["size"])
	}
	if zone := o.str("availability_zone"); zone != "" && zone != "nova" {
		return invalid("Availability zone '%s' is invalid.", zone)
	}
	if err := rq.volumeType(o); err != nil {
		return err
	}
	o["bootable"] = "false"
	if id := o.str("imageRef"); id != "" {
		img := rq.store().get("image/images", id)
		if img == nil || img.str("status") != "active" {
			return invalid("Invalid image identifier or unable to access requested image.")
		}
		o["bootable"], o["_image"] = "true", id
		o["volume_image_metadata"] = object{"image_id": id, "image_name": img["name"]}
	}
	maps.Copy(o, (object{
		"project_id": rq.token.project, "os-vol-tenant-attr:tenant_id": rq.token.project, "user_id": rq.token.user,
		"availability_zone": "nova", "created_at": stamp(volume, rq.now), "updated_at": nil,
		"attachments": []any{},
		"encrypted":   false, "replication_status": nil, "consistencygroup_id": nil,
		"os-vol-host-attr:host": "loopback@loopback#loopback",
		"links":                 []any{}, "migration_status": nil,
	}))
	rq.become(o, "creating", rq.scheduled(o), nil)
	return nil
}

// scheduled returns the status of a new volume: there is one backend, loopback, and a type may
// ask for another backend.
func (rq *request) scheduled(o object) string {
	for _, kind := range rq.store().by("volume/types", "name", o.str("volume_type")) {
		if backend, asked := kind.sub("extra_specs")["volume_backend_name"]; asked && backend != "loopback" {
			return "error"
		}
	}
	return "available"
}

func (rq *request) volumeType(o object) error {
	asked := o.str("volume_type")
	if asked == "" {
		o["volume_type"] = "__DEFAULT__"
		return nil
	}
	for _, kind := range rq.store().where("volume/types", nil) {
		if kind.id() == asked || kind.str("name") == asked {
			o["volume_type"] = kind["name"]
			return nil
		}
	}
	return refuse(http.StatusNotFound, "", "Volume type with name %s could not be found.", asked)
}

func deleteVolume(res *resource, rq *request) (any, error) {
	o, err := res.find(rq, rq.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if state := o.str("status"); !slices.Contains([]string{"available", "error"}, state) {
		return nil, invalid("Invalid volume: Volume status must be available or error, but current status is: %s", state)
	}
	o["status"] = "deleting"
	rq.after(o, func() { rq.store().remove(res.table, o.id()) })
	return reply{status: http.StatusAccepted}, nil
}

// resetStatus serves the administrator's request to set a volume's status.
func resetStatus(res *resource, rq *request) (any, error) {
	o, err := res.find(rq, rq.PathValue("id"))
	if err != nil {
		return nil, err
	}
	ask, err := rq.inside("os-reset_status")
	if err != nil {
		return nil, err
	}
	if !rq.token.admin() {
		return nil, refuse(http.StatusForbidden, "",
			"Policy doesn't allow volume_extension:volume_admin_actions:reset_status to be performed.")
	}
	rq.cloud.cancel(o)
	o["status"] = ask.str("status")
	return reply{status: http.StatusAccepted}, nil
}

// metadata serves the key-value pairs of volumes and servers.
func (s *Server) metadata(res *resource, path string) {
	on := func(verb, path string, do func(rq *request, o, pairs object) (any, error)) {
		s.guarded(res.service, verb+" "+path, func(rq *request) (any, error) {
			o, err := res.find(rq, rq.PathValue("id"))
			if err != nil {
				return nil, err
			}
			pairs := object{}
			maps.Copy(pairs, o.sub("metadata"))
			answer, err := do(rq, o, pairs)
			if err == nil {
				o["metadata"] = pairs
			}
			return answer, err
		})
	}
	merge := func(rq *request, pairs object) (any, error) {
		given := rq.body.sub("metadata")
		if err := checkMetadata(given); err != nil {
			return nil, err
		}
		maps.Copy(pairs, given)
		return reply{status: http.StatusOK, body: object{"metadata": pairs}}, nil
	}
	on(http.MethodGet, path, func(_ *request, _, pairs object) (any, error) { return object{"metadata": pairs}, nil })
	on(http.MethodPost, path, func(rq *request, _, pairs object) (any, error) { return merge(rq, pairs) })
	on(http.MethodPut, path, func(rq *request, _, pairs object) (any, error) {
		clear(pairs)
		return merge(rq, pairs)
	})
	on(http.MethodDelete, path+"/{key}", func(rq *request, _, pairs object) (any, error) {
		key := rq.PathValue("key")
		if _, has := pairs[key]; !has {
			return nil, refuse(http.StatusNotFound, "", "Metadata item was not found")
		}
		delete(pairs, key)
		if res.service.name == "volume" {
			return reply{status: http.StatusOK}, nil
		}
		return nil, nil
	})
}

func checkMetadata(pairs object) error {
	for key, value := range pairs {
		if word, ok := value.(string); !ok || key == "" || len(key) > 255 || len(word) > 255 {
			return invalid("Invalid input for field/attribute metadata. Value: %v: %v.", key, value)
		}
	}
	return nil
}
