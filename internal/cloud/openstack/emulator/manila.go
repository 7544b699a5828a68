package emulator

import (
	"maps"
	"net/http"
)

var share = &service{name: "share", base: "/share", root: "/share/v2", body: novaError}

// manila has share networks only. There is no real Manila among the services that
// the contract is proved on, so this file is written after its API reference.
func (s *Server) manila() {
	for _, root := range []string{"GET /share/v2", "GET /share/v2/{$}"} {
		s.open(share, root, func(*request) (any, error) {
			return object{"versions": anys(object{
				"id": "v2.0", "status": "CURRENT", "version": "2.75", "min_version": "2.0",
				"links": anys(object{"rel": "self", "href": s.url + "/share/v2/"}),
			})}, nil
		})
	}
	res := &resource{
		service: share, table: "share/share_networks", name: "ShareNetwork", path: "/share-networks",
		single: "share_network", plural: "share_networks", verb: http.MethodPut,
		created: http.StatusOK, deleted: http.StatusAccepted,
		attrs: attributes{
			"name": {text, cu | nullable, nil}, "description": {text, cu | nullable, nil},
			"neutron_net_id": {text, cu | nullable, nil}, "neutron_subnet_id": {text, cu | nullable, nil},
			"availability_zone": {text, create | nullable, nil},
		},
		visible: owned,
		prepare: func(rq *request, o object) error {
			if (o.str("neutron_net_id") == "") != (o.str("neutron_subnet_id") == "") {
				return invalid("Both neutron_net_id and neutron_subnet_id should be specified. Alternatively, neither of them.")
			}
			maps.Copy(o, (object{
				"project_id": rq.token.project, "created_at": stamp(share, rq.now), "updated_at": nil, "network_type": nil,
				"segmentation_id": nil, "cidr": nil, "ip_version": nil, "gateway": nil, "mtu": nil, "status": "active",
			}))
			return nil
		},
	}
	s.add(res)
	s.guarded(share, "GET "+share.root+"/share-networks/detail", res.list)
	s.missing(share)
}
