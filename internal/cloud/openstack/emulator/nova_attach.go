package emulator

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func splitComma(words string) []string { return strings.Split(words, ",") }

// onServer serves a path below a server. busy actions need a server that is not building.
func (s *Server) onServer(res *resource, pattern string, busy bool, do func(rq *request, o object) (any, error)) {
	s.guarded(compute, pattern, func(rq *request) (any, error) {
		o, err := res.find(rq, rq.PathValue("id"))
		if err != nil {
			return nil, err
		}
		if busy && o.str("status") == "BUILD" {
			return nil, conflicting("", "Cannot do this to instance %s while it is in vm_state building", o.id())
		}
		return do(rq, o)
	})
}

func (s *Server) serverTags(res *resource, path string) {
	s.onServer(res, "GET "+path, false, func(_ *request, o object) (any, error) {
		return object{"tags": o.list("tags")}, nil
	})
	s.onServer(res, "PUT "+path, true, func(rq *request, o object) (any, error) {
		tags := rq.body.strings("tags")
		if len(tags) > 50 || slices.ContainsFunc(tags, badTag) || len(tags) != len(rq.body.list("tags")) {
			return nil, invalid("Invalid input for field/attribute tags.")
		}
		o["tags"] = anys(slices.Compact(slices.Sorted(slices.Values(tags)))...)
		return object{"tags": o["tags"]}, nil
	})
	s.onServer(res, "DELETE "+path, true, func(_ *request, o object) (any, error) {
		o["tags"] = []any{}
		return nil, nil
	})
	s.onServer(res, "PUT "+path+"/{tag}", true, func(rq *request, o object) (any, error) {
		tag := rq.PathValue("tag")
		if badTag(tag) {
			return nil, invalid("Invalid input for field/attribute tag.")
		}
		if slices.Contains(o.strings("tags"), tag) {
			return reply{status: http.StatusNoContent}, nil
		}
		o["tags"] = append(o.list("tags"), tag)
		return reply{status: http.StatusCreated}, nil
	})
	s.onServer(res, "DELETE "+path+"/{tag}", true, func(rq *request, o object) (any, error) {
		tag := rq.PathValue("tag")
		if !slices.Contains(o.strings("tags"), tag) {
			return nil, refuse(http.StatusNotFound, "", "Server %s has no tag '%s'", o.id(), tag)
		}
		o["tags"] = slices.DeleteFunc(slices.Clone(o.list("tags")), func(other any) bool { return other == tag })
		return nil, nil
	})
}

func badTag(tag string) bool { return tag == "" || len(tag) > 60 || strings.ContainsAny(tag, "/,") }

func interfaceOf(port object) object {
	return object{
		"port_id": port.id(), "net_id": port["network_id"], "mac_addr": port["mac_address"],
		"fixed_ips": port["fixed_ips"], "port_state": port["status"],
	}
}

func (s *Server) interfaceActions(res *resource, path string) {
	s.onServer(res, "GET "+path, false, func(rq *request, o object) (any, error) {
		plugged := rq.store().by("network/ports", "device_id", o.id())
		found := make([]any, 0, len(plugged))
		for _, port := range plugged {
			found = append(found, interfaceOf(port))
		}
		return object{"interfaceAttachments": found}, nil
	})
	s.onServer(res, "POST "+path, true, func(rq *request, o object) (any, error) {
		ask, err := rq.inside("interfaceAttachment")
		if err != nil {
			return nil, err
		}
		id, net := ask.str("port_id"), ask.str("net_id")
		port := rq.store().get("network/ports", id)
		switch {
		case id != "" && port == nil:
			return nil, refuse(http.StatusNotFound, "", "Port id %s could not be found.", id)
		case port.str("device_id") != "":
			return nil, conflicting("", "Port %s is still in use.", id)
		case id == "" && rq.store().get("network/networks", net) == nil:
			return nil, invalid("Network %s could not be found.", net)
		}
		plugged, err := rq.plug(o, id, net)
		if err != nil {
			return nil, err
		}
		return reply{status: http.StatusOK, body: object{"interfaceAttachment": interfaceOf(plugged)}}, nil
	})
	s.onServer(res, "DELETE "+path+"/{port}", true, func(rq *request, o object) (any, error) {
		// Nova accepts the request before it looks for the port.
		if port := rq.store().get("network/ports", rq.PathValue("port")); port.str("device_id") == o.id() {
			rq.unplug(port)
		}
		return reply{status: http.StatusAccepted}, nil
	})
}

func (s *Server) attachments(res *resource, path string) {
	view := func(o, v object) object {
		for _, a := range v.objects("attachments") {
			if a.str("server_id") == o.id() {
				return object{
					"id": v.id(), "volumeId": v.id(), "serverId": o.id(), "device": a["device"],
					"tag": nil, "delete_on_termination": false,
				}
			}
		}
		return nil
	}
	find := func(rq *request, o object) (object, object, error) {
		v := rq.store().get("volume/volumes", rq.PathValue("volume"))
		if v == nil || view(o, v) == nil {
			return nil, nil, refuse(http.StatusNotFound, "", "Instance %s is not attached to volume %s",
				o.id(), rq.PathValue("volume"))
		}
		return v, view(o, v), nil
	}
	s.onServer(res, "GET "+path, false, func(rq *request, o object) (any, error) {
		attached := rq.volumesOf(o)
		found := make([]any, 0, len(attached))
		for _, v := range attached {
			found = append(found, view(o, v))
		}
		return object{"volumeAttachments": found}, nil
	})
	s.onServer(res, "GET "+path+"/{volume}", false, func(rq *request, o object) (any, error) {
		_, shown, err := find(rq, o)
		return object{"volumeAttachment": shown}, err
	})
	s.onServer(res, "POST "+path, true, func(rq *request, o object) (any, error) {
		ask, err := rq.inside("volumeAttachment")
		if err != nil {
			return nil, err
		}
		v := rq.store().get("volume/volumes", ask.str("volumeId"))
		if v == nil {
			return nil, refuse(http.StatusNotFound, "", "Volume %s could not be found.", ask.str("volumeId"))
		}
		if v.str("status") != "available" {
			return nil, invalid("Invalid volume: volume %s status must be available or downloading", v.id())
		}
		device := ask.str("device")
		if device == "" {
			device = fmt.Sprintf("/dev/vd%c", 'b'+len(rq.volumesOf(o)))
		}
		rq.attachVolume(o, v, device)
		return reply{status: http.StatusOK, body: object{"volumeAttachment": view(o, v)}}, nil
	})
	s.onServer(res, "DELETE "+path+"/{volume}", true, func(rq *request, o object) (any, error) {
		v, _, err := find(rq, o)
		if err != nil {
			return nil, err
		}
		v["status"] = "detaching"
		rq.after(v, func() { rq.detachVolume(o, v) })
		return reply{status: http.StatusAccepted}, nil
	})
}
