package volume

import (
	"strings"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"projectID":          "os-vol-tenant-attr:tenant_id",
	"host":               "os-vol-host-attr:host",
	"sourceVolID":        "source_volid",
	"consistencyGroupID": "consistencygroup_id",
}

type pair = openstackv1alpha1.VolumeMetadataStatus

// observe reports a Volume, which is available whether or not it is attached.
func observe(v object, r *kit.Resource) reconcile.Outcome {
	status := &openstackv1alpha1.VolumeResourceStatus{}
	kit.Report(r, status, names)
	if bootable := r.String("bootable"); bootable != "" { // Cinder returns the word "true" or "false".
		status.Bootable = new(bootable == "true")
	}
	status.ImageID, _ = r.Map("volume_image_metadata")["image_id"].(string)
	status.Metadata = kit.Pairs(r, "metadata", func(key, value string) pair { return pair{Name: key, Value: value} })
	v.Status.Resource = status
	if state := r.String("status"); strings.HasPrefix(state, "error") {
		return reconcile.Refuse(condition.ReasonUnrecoverableError, "OpenStack says that the status is %s", state)
	}
	return kit.Status(r, "available", "in-use")
}
