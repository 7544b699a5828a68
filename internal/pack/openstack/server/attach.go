package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Paths below the path of a server.
const (
	interfacePath = "os-interface"
	volumePath    = "os-volume_attachments"
)

// Names of ports and volumes in the result of Table.Differs.
const (
	portsName   = "ports"
	volumesName = "volumes"
)

// attachments are the changes for ports or for volumes.
type attachments struct {
	path string
	// add has the request bodies, remove the IDs.
	add    []map[string]any
	remove []string
}

func wantedPorts(in external.Input[object]) []string {
	return kit.IDs(in, References, portRefs)
}

// comparePorts returns the ports to attach and to detach.
func comparePorts(in external.Input[object], r *kit.Resource) attachments {
	have, wanted := listed(r, interfacesField, "port_id"), wantedPorts(in)
	all := attachments{path: interfacePath, remove: surplus(in, "Port", have, wanted)}
	for _, id := range wanted {
		if !slices.Contains(have, id) {
			all.add = append(all.add, map[string]any{"interfaceAttachment": map[string]any{"port_id": id}})
		}
	}
	return all
}

// compareVolumes returns the volumes to attach and to detach. The boot volume is neither.
func compareVolumes(in external.Input[object], r *kit.Resource) attachments {
	s := in.Object.Spec.Resource
	have, wanted := listed(r, volumesField, "id"), kit.IDs(in, References, volumeRefs)
	all := attachments{
		path:   volumePath,
		remove: surplus(in, "Volume", have, append(kit.IDs(in, References, bootVolumeRef), wanted...)),
	}
	for i, id := range wanted {
		if slices.Contains(have, id) {
			continue
		}
		body := map[string]any{"volumeId": id}
		if device := s.Volumes[i].Device; device != nil {
			body["device"] = *device
		}
		all.add = append(all.add, map[string]any{"volumeAttachment": body})
	}
	return all
}

// listed returns the IDs in a list of objects.
func listed(r *kit.Resource, field, key string) []string {
	list, _ := r.Fields[field].([]any)
	all := make([]string, 0, len(list))
	for _, item := range list {
		object, _ := item.(map[string]any)
		if id, ok := object[key].(string); ok {
			all = append(all, id)
		}
	}
	return all
}

// surplus returns the attached IDs that the spec named before (status.observedDependencies) and
// does not name now. Other attached IDs, such as the disks of a container platform, stay
// attached.
func surplus(in external.Input[object], kind string, have, wanted []string) []string {
	var all []string
	for _, d := range in.Object.Status.ObservedDependencies {
		if d.Kind == kind && slices.Contains(have, d.ID) && !slices.Contains(wanted, d.ID) && !slices.Contains(all, d.ID) {
			all = append(all, d.ID)
		}
	}
	return all
}

func (a attachments) differ() bool { return len(a.add)+len(a.remove) > 0 }

func portsDiffer(in external.Input[object], r *kit.Resource) bool {
	return comparePorts(in, r).differ()
}

func volumesDiffer(in external.Input[object], r *kit.Resource) bool {
	return compareVolumes(in, r).differ()
}

func metadataDiffers(in external.Input[object], r *kit.Resource) bool {
	set, unset := kit.Unlike(r, metadataField, kit.Pairs(in.Object.Spec.Resource.Metadata))
	return len(set)+len(unset) > 0
}

// Update implements external.Actuator. Nova detaches asynchronously.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, fields []string,
) (*kit.Resource, error) {
	id := r.String("id")
	if _, err := a.Actuator.Update(ctx, in, r, fields); err != nil {
		return r, err
	}
	if slices.Contains(fields, metadataField) {
		body := map[string]any{metadataField: kit.Mark(in.Object, kit.Pairs(in.Object.Spec.Resource.Metadata))}
		if err := kit.Call(ctx, a.Client, http.MethodPut, a.URL(id, metadataField), body, nil); err != nil {
			return r, kit.Explain(err)
		}
	}
	for _, all := range []attachments{comparePorts(in, r), compareVolumes(in, r)} {
		if err := a.attach(ctx, id, all); err != nil {
			return r, err
		}
	}
	now, err := a.Get(ctx, in, id)
	if err == nil {
		now, err = a.Complete(ctx, now)
	}
	if err != nil {
		return r, err
	}
	if left := a.Differs(in, now); len(left) > 0 {
		return now, &external.Error{
			Class: external.Pending, Message: "Waiting for the change of " + strings.Join(left, ", "),
		}
	}
	return now, nil
}

// attach detaches first: a new port or volume may need the device of an old one.
func (a actuator) attach(ctx context.Context, id string, all attachments) error {
	for _, what := range all.remove {
		err := kit.Call(ctx, a.Client, http.MethodDelete, a.URL(id, all.path, what), nil, nil)
		if err == nil || openstack.IsNotFound(err) {
			continue
		}
		if openstack.Classify(err).Status != http.StatusBadRequest { // 400 means that it is being detached already.
			return kit.Explain(err)
		}
	}
	for _, body := range all.add {
		if err := kit.Call(ctx, a.Client, http.MethodPost, a.URL(id, all.path), body, nil); err != nil {
			return kit.Explain(err)
		}
	}
	return nil
}
