package emulator

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const servers = "compute/servers"

func (s *Server) servers() {
	res := &resource{
		service: compute, table: servers, name: "Instance", path: "/servers", single: "server", plural: "servers",
		verb: http.MethodPut, links: linkList, perPage: 1000,
		attrs: attributes{
			"name": {text, cu | required, nil}, "flavorRef": {anything, create | required, nil},
			"imageRef": {text, create | nullable, ""}, "networks": {anything, create, nil},
			"key_name": {text, create | nullable, nil}, "metadata": {dict, create, object{}},
			"tags": {list, create, []any{}}, "user_data": {longText, create | nullable, nil},
			"config_drive": {flag, create, false}, "availability_zone": {text, create | nullable, nil},
			"block_device_mapping_v2": {list, create, []any{}}, "description": {text, cu | nullable, nil},
			"security_groups": {list, create, []any{}},
		},
		visible: owned, prepare: prepareServer, filter: filterServer, queries: serverQueries, view: viewServer,
		stored: func(rq *request, o object) error { return rq.attachAll(o) },
		// Faults of servers that have no host are in a cell that a list does not look into.
		unlisted: []string{"server_groups", "fault"},
	}
	s.named[res.table] = res
	root := compute.root + "/servers"
	s.guarded(compute, "POST "+root, func(rq *request) (any, error) {
		given, err := rq.inside("server")
		if err != nil {
			return nil, err
		}
		o, err := res.make(rq, given)
		if err != nil {
			return nil, err
		}
		return reply{status: http.StatusAccepted, body: object{"server": object{
			"id": o.id(), "adminPass": randomHex(6), "OS-DCF:diskConfig": "MANUAL", "links": []any{},
			"security_groups": anys(object{"name": "default"}),
		}}}, nil
	})
	s.guarded(compute, "GET "+root, res.list)
	s.guarded(compute, "GET "+root+"/detail", res.list)
	s.guarded(compute, "GET "+root+"/{id}", res.get)
	s.guarded(compute, "PUT "+root+"/{id}", res.update)
	s.guarded(compute, "DELETE "+root+"/{id}", func(rq *request) (any, error) {
		o, err := res.find(rq, rq.PathValue("id"))
		if err != nil {
			return nil, err
		}
		o["_task"] = "deleting"
		s.cancel(o)
		rq.after(o, func() { rq.dropServer(o) })
		return nil, nil
	})
	s.metadata(res, root+"/{id}/metadata")
	s.serverTags(res, root+"/{id}/tags")
	s.interfaceActions(res, root+"/{id}/os-interface")
	s.attachments(res, root+"/{id}/os-volume_attachments")
}

func prepareServer(rq *request, o object) error {
	flavor := rq.store().get("compute/flavors", textOf(o["flavorRef"]))
	if flavor == nil {
		return invalid("Flavor %v could not be found.", o["flavorRef"])
	}
	if err := rq.checkBoot(o); err != nil {
		return err
	}
	if name := o.str("key_name"); name != "" && rq.store().get("compute/keypairs", rq.token.user+"/"+name) == nil {
		return invalid("Invalid key_name provided.")
	}
	if _, err := base64.StdEncoding.DecodeString(o.str("user_data")); err != nil {
		return invalid("Invalid input for field/attribute user_data. It is not base64.")
	}
	if zone := o.str("availability_zone"); zone != "" && zone != "nova" {
		return invalid("The requested availability zone is not available")
	}
	if err := checkMetadata(o.sub("metadata")); err != nil {
		return err
	}
	if o["networks"] == nil {
		return invalid("Invalid input for field/attribute server. 'networks' is a required property")
	}
	if err := rq.checkNetworks(o); err != nil {
		return err
	}
	if group := rq.body.sub("os:scheduler_hints").str("group"); group != "" {
		g := rq.store().get("compute/server_groups", group)
		if g == nil {
			return invalid("ServerGroup policy is not supported: %s could not be found", group)
		}
		g["members"] = append(g.list("members"), o.id())
		o["_group"] = group
	}
	now := stamp(compute, rq.now)
	o["project_id"], o["tenant_id"], o["user_id"], o["created"], o["updated"] =
		rq.token.project, rq.token.project, rq.token.user, now, now
	o["_flavor"] = flavor.id()
	o["tags"] = anys(slices.Sorted(slices.Values(o.strings("tags")))...)
	return nil
}

// checkBoot: from an image, or from a volume which is there.
func (rq *request) checkBoot(o object) error {
	if id := o.str("imageRef"); id != "" {
		img := rq.store().get("image/images", id)
		if img == nil {
			return invalid("Can not find requested image")
		}
		if img.str("status") != "active" {
			return invalid("Image %s is not active.", id)
		}
		return nil
	}
	for _, device := range o.objects("block_device_mapping_v2") {
		if textOf(device["boot_index"]) != "0" {
			continue
		}
		v := rq.store().get("volume/volumes", device.str("uuid"))
		if device.str("source_type") == "volume" && v == nil {
			return invalid("Block Device Mapping is Invalid: failed to get volume %s.", device.str("uuid"))
		}
		if v != nil && v.str("status") != "available" {
			return invalid("Invalid volume: status must be 'available'. Currently in '%s'", v.str("status"))
		}
		if v != nil && v.str("bootable") != "true" {
			return invalid("Block Device %s is not bootable.", v.id())
		}
		return nil
	}
	return invalid("Missing imageRef attribute")
}

func (rq *request) checkNetworks(o object) error {
	for _, nic := range o.objects("networks") {
		if id := nic.str("port"); id != "" {
			port := rq.store().get("network/ports", id)
			if port == nil {
				return invalid("Port id %s could not be found.", id)
			}
			if port.str("device_id") != "" {
				return conflicting("", "Port %s is still in use.", id)
			}
			continue
		}
		if rq.store().get("network/networks", nic.str("uuid")) == nil {
			return invalid("Network %s could not be found.", nic.str("uuid"))
		}
	}
	return nil
}

// attachAll binds the parts of a new server.
func (rq *request) attachAll(o object) error {
	if !rq.placed(o) {
		rq.become(o, "BUILD", "ERROR", func() {
			o["fault"] = object{"code": 500, "created": stamp(compute, rq.now), "message": "No valid host was found. "}
		})
		return nil
	}
	for _, nic := range o.objects("networks") {
		if _, err := rq.plug(o, nic.str("port"), nic.str("uuid")); err != nil {
			return err
		}
	}
	for _, device := range o.objects("block_device_mapping_v2") {
		if v := rq.store().get("volume/volumes", device.str("uuid")); v != nil {
			rq.attachVolume(o, v, "/dev/vda")
		}
	}
	rq.become(o, "BUILD", "ACTIVE", nil)
	return nil
}

// placed reports whether a host can take a new server: the only host has the usual resource
// classes alone.
func (rq *request) placed(o object) bool {
	for key := range rq.store().get("compute/flavors", o.str("_flavor")).sub("extra_specs") {
		if strings.HasPrefix(key, "resources:CUSTOM_") {
			return false
		}
	}
	return true
}

// plug gives a server the port with an id. Without an id, plug creates a port in the network net.
func (rq *request) plug(server object, id, net string) (object, error) {
	port := rq.store().get("network/ports", id)
	if port == nil {
		made, err := rq.makePort(server.str("project_id"), rq.store().get("network/networks", net), "", "", nil)
		if err != nil {
			return nil, err
		}
		port = made
		port["_nova"] = true
	}
	port["device_id"], port["device_owner"] = server.id(), "compute:nova"
	port["binding:host_id"], port["status"] = "loopback", "ACTIVE"
	touchAs(network, rq, port)
	return port, nil
}

// unplug clears device_id, device_owner and binding:host_id of a port, or removes the port if Nova
// created the port.
func (rq *request) unplug(port object) {
	if port.flag("_nova") {
		rq.dropPort(port)
		return
	}
	port["device_id"], port["device_owner"], port["binding:host_id"], port["status"] = "", "", "", "DOWN"
	touchAs(network, rq, port)
}

// touchAs notes a change that another service makes.
func touchAs(svc *service, rq *request, o object) {
	mine := rq.service
	rq.service = svc
	touch(rq, o)
	rq.service = mine
}

func (rq *request) attachVolume(server, v object, device string) {
	attachment := object{
		"server_id": server.id(), "attachment_id": uuid.NewString(), "device": device, "volume_id": v.id(), "id": v.id(),
		"attached_at": stamp(volume, rq.now), "host_name": nil,
	}
	v["attachments"], v["status"] = append(v.list("attachments"), attachment), "in-use"
}

func (rq *request) detachVolume(server, v object) {
	v["attachments"] = slices.DeleteFunc(slices.Clone(v.list("attachments")), func(a any) bool {
		return asObject(a).str("server_id") == server.id()
	})
	if len(v.list("attachments")) == 0 {
		v["status"] = "available"
	}
}

func (rq *request) dropServer(o object) {
	for _, port := range rq.store().by("network/ports", "device_id", o.id()) {
		rq.unplug(port)
	}
	for _, v := range rq.volumesOf(o) {
		rq.detachVolume(o, v)
	}
	if g := rq.store().get("compute/server_groups", o.str("_group")); g != nil {
		g["members"] = slices.DeleteFunc(slices.Clone(g.list("members")), func(id any) bool { return id == o.id() })
	}
	rq.store().remove(servers, o.id())
}

func (rq *request) volumesOf(server object) []object {
	return rq.store().where("volume/volumes", func(v object) bool {
		return slices.ContainsFunc(v.objects("attachments"), func(a object) bool { return a.str("server_id") == server.id() })
	})
}

// serverQueries are the filters of a list of servers, as of microversion 2.75.
var serverQueries = []string{
	"access_ip_v4", "access_ip_v6", "all_tenants", "auto_disk_config", "availability_zone", "changes-before",
	"changes-since", "config_drive", "created_at", "deleted", "description", "display_description", "display_name",
	"flavor", "host", "hostname", "image", "image_ref", "instance_type_id", "ip", "ip6", "kernel_id", "key_name",
	"launch_index", "launched_at", "limit", "locked", "locked_by", "marker", "name", "node", "not-tags",
	"not-tags-any", "power_state", "progress", "project_id", "ramdisk_id", "reservation_id", "root_device_name",
	"sort_dir", "sort_key", "status", "tags", "tags-any", "task_state", "tenant_id", "terminated_at", "user_id",
	"uuid", "vm_state",
}

func filterServer(rq *request, o object) bool {
	query := rq.URL.Query()
	if query.Get("all_tenants") == "" && o.str("project_id") != rq.token.project {
		return false
	}
	if name := query.Get("name"); name != "" {
		pattern, err := regexp.Compile(name)
		if err != nil || !pattern.MatchString(o.str("name")) {
			return false
		}
	}
	if state := query.Get("status"); state != "" && state != o.str("status") {
		return false
	}
	for key, test := range tagFilters {
		if query.Has(key) && !test(o.strings("tags"), splitComma(query.Get(key))) {
			return false
		}
	}
	zone := query.Get("availability_zone")
	return zone == "" || zone == "nova"
}

func viewServer(rq *request, o object) object {
	flavor := rq.store().get("compute/flavors", o.str("_flavor"))
	if flavor == nil {
		flavor = object{}
	}
	shown := pick(o, []string{
		"id", "name", "status", "tenant_id", "user_id", "metadata", "created", "updated", "key_name", "tags", "description",
	})
	original := rq.store().get(servers, o.id())
	volumes := rq.volumesOf(o)
	attached := make([]any, 0, len(volumes))
	for _, v := range volumes {
		attached = append(attached, object{"id": v.id(), "delete_on_termination": false})
	}
	groups := []any{}
	if id := original.str("_group"); id != "" {
		groups = append(groups, id)
	}
	shown["image"] = ""
	if id := o.str("imageRef"); id != "" {
		shown["image"] = object{"id": id, "links": []any{}}
	}
	shown["config_drive"] = map[bool]string{true: "True", false: ""}[o.flag("config_drive")]
	shown["flavor"] = pick(flavor, []string{"ram", "vcpus", "disk", "swap", "extra_specs"})
	asObject(shown["flavor"])["original_name"] = flavor["name"]
	asObject(shown["flavor"])["ephemeral"] = flavor["OS-FLV-EXT-DATA:ephemeral"]
	shown["hostId"], shown["addresses"], shown["links"] = randomHostID, rq.addresses(o), []any{}
	shown["OS-EXT-AZ:availability_zone"], shown["OS-EXT-STS:task_state"] = "nova", original["_task"]
	shown["os-extended-volumes:volumes_attached"], shown["server_groups"] = attached, groups
	if fault := o.sub("fault"); fault != nil && o.str("status") == "ERROR" {
		shown["fault"] = fault
	}
	if rq.token.admin() {
		shown["OS-EXT-SRV-ATTR:host"], shown["OS-EXT-SRV-ATTR:hypervisor_hostname"] = "loopback", "loopback"
		shown["OS-EXT-SRV-ATTR:user_data"] = o["user_data"]
	}
	shown["accessIPv4"], shown["accessIPv6"], shown["locked"], shown["progress"] = "", "", false, 0
	return shown
}

const randomHostID = "6f7063b1c0d4a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6"

func (rq *request) addresses(server object) object {
	found := object{}
	for _, port := range rq.store().by("network/ports", "device_id", server.id()) {
		name := rq.store().get("network/networks", port.str("network_id")).str("name")
		for _, fixed := range port.objects("fixed_ips") {
			version := 4
			if slices.Contains([]byte(fixed.str("ip_address")), ':') {
				version = 6
			}
			list, _ := found[name].([]any)
			found[name] = append(list, object{
				"addr": fixed["ip_address"], "version": version, "OS-EXT-IPS:type": "fixed",
				"OS-EXT-IPS-MAC:mac_addr": port["mac_address"],
			})
		}
	}
	return found
}
