package emulator

import (
	"net/http"
	"slices"
)

func trunks() *resource {
	return neutronKind(&resource{
		single: "trunk", plural: "trunks", name: "Trunk",
		attrs: attributes{
			"port_id": {identifier, create | required, nil}, "sub_ports": {list, create, []any{}},
			"admin_state_up": {flag, cu, true},
		},
		prepare: func(rq *request, o object) error {
			port, err := rq.known("network/ports", o.str("port_id"))
			if err != nil {
				return err
			}
			if len(rq.store().by("network/trunks", "port_id", port.id())) > 0 {
				return conflicting("ParentPortInUse", "Port %s is in use by another trunk.", port.id())
			}
			if rq.trunkOf(port.id()) != nil {
				return conflicting("TrunkPortInUse", "Port %s is in use by another trunk.", port.id())
			}
			asked := o.objects("sub_ports")
			o["sub_ports"], o["status"] = []any{}, "DOWN"
			return rq.addSubports(o, asked)
		},
		remove: func(_ *request, o object) error { return enabled(o) },
	})
}

// enabled: Neutron leaves a trunk that is down alone.
func enabled(trunk object) error {
	if trunk.flag("admin_state_up") {
		return nil
	}
	return conflicting("TrunkDisabled", "Trunk %s is currently disabled.", trunk.id())
}

// trunkOf returns the trunk that has a port as subport.
func (rq *request) trunkOf(port string) object {
	return first(rq.store().where("network/trunks", func(o object) bool {
		return slices.ContainsFunc(o.objects("sub_ports"), func(sub object) bool { return sub.str("port_id") == port })
	}))
}

func (rq *request) addSubports(trunk object, asked []object) error {
	all := slices.Clone(trunk.list("sub_ports"))
	for _, sub := range asked {
		port, err := rq.known("network/ports", sub.str("port_id"))
		if err != nil {
			return err
		}
		if rq.trunkOf(port.id()) != nil || len(rq.store().by("network/trunks", "port_id", port.id())) > 0 ||
			port.id() == trunk.str("port_id") {
			return conflicting("TrunkPortInUse", "Port %s is in use by another trunk.", port.id())
		}
		kind := sub.str("segmentation_type")
		if kind != "vlan" && kind != "inherit" {
			return invalid("Invalid input for sub_ports. Reason: Segmentation type '%s' is not supported.", kind)
		}
		if id := sub.num("segmentation_id"); kind == "vlan" && (id < 1 || id > 4094) {
			return invalid("Invalid input for sub_ports. Reason: Invalid segmentation id %d.", id)
		}
		for _, other := range all {
			if asObject(other).num("segmentation_id") == sub.num("segmentation_id") && asObject(other).str("segmentation_type") == kind {
				return conflicting("DuplicateSubPort", "segmentation_type %s and segmentation_id %d already in use on trunk %s.",
					kind, sub.num("segmentation_id"), trunk.id())
			}
		}
		all = append(all, object{
			"port_id": port.id(), "segmentation_type": kind, "segmentation_id": sub.num("segmentation_id"),
		})
	}
	trunk["sub_ports"] = all
	return nil
}

func (s *Server) trunkActions() {
	path := network.root + "/trunks/{id}/"
	on := func(pattern string, do func(rq *request, trunk object) error) {
		s.guarded(network, pattern, func(rq *request) (any, error) {
			trunk, err := rq.known("network/trunks", rq.PathValue("id"))
			if err != nil {
				return nil, err
			}
			if err := do(rq, trunk); err != nil {
				return nil, err
			}
			return reply{status: http.StatusOK, body: s.named["network/trunks"].show(rq, trunk)}, nil
		})
	}
	s.guarded(network, "GET "+path+"get_subports", func(rq *request) (any, error) {
		trunk, err := rq.known("network/trunks", rq.PathValue("id"))
		return object{"sub_ports": trunk.list("sub_ports")}, err
	})
	on("PUT "+path+"add_subports", func(rq *request, trunk object) error {
		if err := enabled(trunk); err != nil {
			return err
		}
		if err := rq.addSubports(trunk, rq.body.objects("sub_ports")); err != nil {
			return err
		}
		touch(rq, trunk)
		return nil
	})
	on("PUT "+path+"remove_subports", func(rq *request, trunk object) error {
		if err := enabled(trunk); err != nil {
			return err
		}
		return removeSubports(rq, trunk)
	})
}

func removeSubports(rq *request, trunk object) error {
	kept := slices.Clone(trunk.list("sub_ports"))
	for _, sub := range rq.body.objects("sub_ports") {
		before := len(kept)
		kept = slices.DeleteFunc(kept, func(other any) bool { return asObject(other).str("port_id") == sub.str("port_id") })
		if len(kept) == before {
			return refuse(http.StatusNotFound, "SubPortNotFound", "SubPort on trunk %s with parent port %s could not be found.",
				trunk.id(), trunk.str("port_id"))
		}
	}
	trunk["sub_ports"] = kept
	touch(rq, trunk)
	return nil
}
