package emulator

import (
	"net/http"
	"net/url"
	"time"
)

// seed makes the resources of a fresh cloud: the same that hack/openstack makes.
func (s *Server) seed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	rq := &request{
		Request: &http.Request{Method: http.MethodPost, URL: &url.URL{}}, cloud: s, now: time.Now().UTC(),
		token: &token{names: []string{"admin"}},
	}
	rq.seedIdentity()
	if !s.options.Empty {
		rq.token.project = first(rq.store().by("identity/projects", "name", "admin")).id()
		rq.seedNetwork()
		rq.seedCompute()
	}
	rq.seed("volume/types", object{"name": "__DEFAULT__", "description": "Default Volume Type"})
	for _, name := range s.objects.names() {
		for _, o := range s.objects.where(name, nil) {
			o["_own"] = true
		}
	}
}

// seed creates a resource of the cloud itself. A failure is a mistake in this file, which every
// test finds.
func (rq *request) seed(table string, o object) object {
	res := rq.cloud.named[table]
	rq.service = res.service
	made, err := res.make(rq, o)
	if err != nil {
		panic("seed " + table + ": " + err.Error())
	}
	return made
}

func (rq *request) seedIdentity() {
	s := rq.store()
	s.put("identity/domains", object{
		"id": "default", "name": "Default", "enabled": true, "description": "The default domain", "tags": []any{},
	})
	s.put("identity/regions", object{"id": region, "description": "", "parent_region_id": nil})
	ids := map[string]string{}
	for _, name := range []string{"admin", "member", "reader", "service"} {
		ids[name] = rq.seed("identity/roles", object{"name": name}).id()
	}
	for name, given := range map[string][]string{
		"admin": {"admin", "member", "reader"}, "demo": {"member", "reader"}, "alt_demo": {"member", "reader"},
		"service": {"admin", "service"},
	} {
		project := rq.seed("identity/projects", object{"name": name}).id()
		user := rq.seed("identity/users", object{"name": name, "password": password}).id()
		for _, role := range given {
			rq.seedGrant("projects", project, user, ids[role])
		}
		if name == "admin" {
			rq.seedGrant("system", "system", user, ids["admin"])
		}
	}
	for _, svc := range []struct{ name, kind, path string }{
		{"keystone", "identity", "/identity/v3"},
		{"neutron", "network", "/network"},
		{"glance", "image", "/image"},
		{"nova", "compute", "/compute/v2.1"},
		{"cinder", "volumev3", "/volume/v3/$(project_id)s"},
		{"manila", "sharev2", "/share/v2"},
	} {
		id := rq.seed("identity/services", object{"name": svc.name, "type": svc.kind}).id()
		for _, word := range []string{"public", "internal", "admin"} {
			rq.seed("identity/endpoints", object{
				"service_id": id, "interface": word, "region_id": region, "url": rq.cloud.url + svc.path,
			})
		}
	}
}

func (rq *request) seedGrant(kind, target, user, role string) {
	rq.store().put(assignments, object{
		"id": target + "/" + user + "/" + role, "role": role, "target": target, "actor": user,
		"targetKind": kind, "actorKind": "users",
	})
}

func (rq *request) seedNetwork() {
	public := rq.seed("network/networks", object{
		"name": "public", "router:external": true, "is_default": true,
		"provider:network_type": "flat", "provider:physical_network": "public",
	})
	rq.seed("network/subnets", object{
		"name": "public-subnet", "network_id": public.id(), "ip_version": 4.0, "cidr": "172.24.0.0/16",
		"gateway_ip": "172.24.0.1", "enable_dhcp": false,
	})
}

func (rq *request) seedCompute() {
	for id, ram := range map[string]float64{"1": 64, "2": 128} {
		name := map[string]string{"1": "m1.tiny", "2": "m1.small"}[id]
		rq.seed("compute/flavors", object{"name": name, "ram": ram, "disk": 1.0, "vcpus": 1.0, "id": id})
	}
	rq.body = object{}
	cirros := rq.seed("image/images", object{
		"name": "cirros", "disk_format": "raw", "container_format": "bare", "visibility": "public",
	})
	fill(cirros, make([]byte, 1024))
	cirros["status"] = "active"
}
