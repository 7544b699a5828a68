package applicationcredential

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// timeFormat is the format of expires_at in Keystone: UTC without a zone.
const timeFormat = "2006-01-02T15:04:05.000000"

func amend(o object, r *kit.Resource) {
	if at, err := time.Parse(timeFormat, r.String("expires_at")); err == nil {
		o.Status.Resource.ExpiresAt = &metav1.Time{Time: at}
	}
}
