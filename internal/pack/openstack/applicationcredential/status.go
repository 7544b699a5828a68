package applicationcredential

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// timeFormat is the format of expires_at in Keystone: UTC without a zone.
const timeFormat = "2006-01-02T15:04:05.000000"

// observe reports an ApplicationCredential, which is available as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	s := &openstackv1alpha1.ApplicationCredentialResourceStatus{}
	kit.Report(r, s, nil)
	if at, err := time.Parse(timeFormat, r.String("expires_at")); err == nil {
		s.ExpiresAt = &metav1.Time{Time: at}
	}
	o.Status.Resource = s
	return reconcile.Outcome{}
}
