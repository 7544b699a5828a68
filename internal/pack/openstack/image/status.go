package image

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"sizeB": "size", "virtualSizeB": "virtual_size",
	"hash": "", "hash.algorithm": "os_hash_algo", "hash.value": "os_hash_value",
}

// observe sets status.resource of an Image. The reconcile.Outcome is done once the status of the
// Glance image is active (kit.Status).
func observe(o object, r *kit.Resource) reconcile.Outcome {
	s := &openstackv1alpha1.ImageResourceStatus{}
	kit.Report(r, s, names)
	if s.Hash != nil && (s.Hash.Algorithm == "" || s.Hash.Value == "") {
		s.Hash = nil // An image without content has no hash.
	}
	o.Status.Resource = s
	tellImport(o, r, time.Now())
	serving := kit.Status(r, active)
	if o.Status.DownloadAttempts != nil && serving.IsDone() {
		downloading(o, metav1.ConditionFalse, condition.ReasonSuccess, "Data saved")
	}
	return serving
}
