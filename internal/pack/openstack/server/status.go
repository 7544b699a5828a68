package server

import (
	"cmp"
	"slices"
	"strings"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Fields with another name in Nova, or that the actuator adds to Nova's answers.
const (
	volumesField    = "os-extended-volumes:volumes_attached"
	interfacesField = "interfaces"
	groupsField     = "server_groups"
	metadataField   = kit.MetadataField
)

// building is the status of a server while Nova builds it.
const building = "BUILD"

var names = map[string]string{
	"availabilityZone": "OS-EXT-AZ:availability_zone",
	"hostID":           "hostId",
	"volumes":          volumesField,
}

type (
	interfaceSeen = openstackv1alpha1.ServerInterfaceStatus
	volumeSeen    = openstackv1alpha1.ServerVolumeStatus
)

// observe reports a Server, which is available while its status is ACTIVE.
func observe(s object, r *kit.Resource) reconcile.Outcome {
	status := &openstackv1alpha1.ServerResourceStatus{}
	kit.Report(r, status, names)
	if _, told := r.Fields[groupsField]; !told && s.Status.Resource != nil {
		status.ServerGroups = s.Status.Resource.ServerGroups // Nova's list has no server_groups.
	}
	if host := r.String("OS-EXT-SRV-ATTR:host"); host != "" { // Only for administrators; others get a hash.
		status.HostID = host
	}
	status.ImageID, _ = r.Map("image")["id"].(string)
	if drive, told := r.Fields["config_drive"].(string); told {
		status.ConfigDrive = new(strings.EqualFold(drive, "true"))
	}
	// Nova returns them in another order each time.
	slices.SortFunc(status.Interfaces, func(a, b interfaceSeen) int { return cmp.Compare(a.PortID, b.PortID) })
	slices.SortFunc(status.Volumes, func(a, b volumeSeen) int { return cmp.Compare(a.ID, b.ID) })
	s.Status.Resource = status
	if r.String("status") == "ERROR" {
		fault, _ := r.Map("fault")["message"].(string)
		return reconcile.Refuse(condition.ReasonUnrecoverableError, "%s",
			cmp.Or(fault, "OpenStack says that the status is ERROR"))
	}
	return kit.Status(r, "ACTIVE")
}
