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

// Paths below that of a server.
const (
	interfacePath = "os-interface"
	volumePath    = "os-volume_attachments"
)

// What differs calls ports and volumes.
const (
	portsName   = "ports"
	volumesName = "volumes"
)

// attachments are of one sort: ports or volumes.
type attachments struct {
	path string
	// add are the bodies of requests, remove the ids.
	add    []map[string]any
	remove []string
}

func wantedPorts(in external.Input[object]) []string {
	return kit.IDs(in, References, portRefs)
}

// comparePorts returns the ports to attach and those to detach.
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

// compareVolumes returns the volumes to attach and those to detach. The one that the
// server starts from is neither.
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

// listed returns the ids in a list of objects.
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

// surplus returns what is attached because the object once named it. What others
// attached, such as the disks of a container platform, is theirs.
func surplus(in external.Input[object], kind string, have, wanted []string) []string {
	var all []string
	for _, d := range in.Object.Status.ObservedDependencies {
		if d.Kind == kind && slices.Contains(have, d.ID) && !slices.Contains(wanted, d.ID) && !slices.Contains(all, d.ID) {
			all = append(all, d.ID)
		}
	}
	return all
}

func (a *attachments) differ() bool { return len(a.add)+len(a.remove) > 0 }

func differs(in external.Input[object], r *kit.Resource) []string {
	if !steady(r) {
		return nil
	}
	fields := table.Differs(in, r)
	if set, unset := kit.Unlike(r, metadataField, pairs(in.Object.Spec.Resource.Metadata)); len(set)+len(unset) > 0 {
		fields = append(fields, metadataField)
	}
	if all := comparePorts(in, r); all.differ() {
		fields = append(fields, portsName)
	}
	if all := compareVolumes(in, r); all.differ() {
		fields = append(fields, volumesName)
	}
	return fields
}

// Update implements external.Actuator. Nova detaches in its own time.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, fields []string,
) (*kit.Resource, error) {
	id := r.String("id")
	if _, err := a.Actuator.Update(ctx, in, r, fields); err != nil {
		return r, err
	}
	if slices.Contains(fields, metadataField) {
		body := map[string]any{metadataField: kit.Mark(in.Object, pairs(in.Object.Spec.Resource.Metadata))}
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
	if left := differs(in, now); len(left) > 0 {
		return now, &external.Error{
			Class: external.Pending, Message: "Waiting for the change of " + strings.Join(left, ", "),
		}
	}
	return now, nil
}

// attach detaches first: a port or a disk may pass its place to another.
func (a actuator) attach(ctx context.Context, id string, all attachments) error {
	for _, what := range all.remove {
		err := kit.Call(ctx, a.Client, http.MethodDelete, a.URL(id, all.path, what), nil, nil)
		if err == nil || openstack.IsNotFound(err) {
			continue
		}
		if openstack.Classify(err).Status != http.StatusBadRequest { // With that, it is being detached already.
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
