// Package volume is the kind Volume of the openstack pack, for /v3/PROJECT_ID/volumes of
// Cinder. A Server attaches and detaches volumes, not the Volume.
package volume

import (
	"net/url"
	"strings"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

type object = *openstackv1alpha1.Volume

// Table describes the requests for Volumes.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Volume, Observe: observe, Names: names,
	Path: "volumes", Listed: "volumes/detail", One: "volume", Many: "volumes", Marked: kit.MetadataField,
	Fields: fields, Lingers: true,
	// A cloud may ignore the filters of ordinary users.
	Compared: []string{"name", "description", "size", "availabilityZone"},
	Adapt: func(in external.Input[object], query url.Values) {
		if name := in.Object.GetFilter().Name; name != nil {
			query.Set("name", string(*name))
		}
	},
	References: kit.Bind[object]([]kit.Reference{
		// Cinder reports the name of a volume type, not its ID.
		{Target: "VolumeType", Field: "spec.resource.volumeTypeRef", Body: "volume_type", Opaque: true},
		// Cinder copies the image into the volume: then the image may be deleted.
		{Target: "Image", Field: "spec.resource.imageRef", Need: kit.Once, Body: "imageRef"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	metadata := kit.Pairs(r.Metadata)
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Fixed("size", &r.Size),
		kit.Fixed("availability_zone", r.AvailabilityZone),
		kit.Fixed("metadata", &metadata),
	}
}

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"projectID":          "os-vol-tenant-attr:tenant_id",
	"host":               "os-vol-host-attr:host",
	"sourceVolID":        "source_volid",
	"consistencyGroupID": "consistencygroup_id",
}

// observe reports a Volume, which is available whether or not it is attached.
func observe(v object, r *kit.Resource) reconcile.Outcome {
	status := &openstackv1alpha1.VolumeResourceStatus{}
	kit.Report(r, status, names)
	if bootable := r.String("bootable"); bootable != "" { // Cinder returns the word "true" or "false".
		status.Bootable = new(bootable == "true")
	}
	status.ImageID, _ = r.Map("volume_image_metadata")["image_id"].(string)
	v.Status.Resource = status
	if state := r.String("status"); strings.HasPrefix(state, "error") {
		return reconcile.Refuse(condition.ReasonUnrecoverableError, "OpenStack says that the status is %s", state)
	}
	return kit.Status(r, "available", "in-use")
}
