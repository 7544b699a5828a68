package domain

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a domain, which serves as soon as it exists.
func observe(d object, r *kit.Resource) reconcile.Outcome {
	d.Status.Resource = &openstackv1alpha1.DomainResourceStatus{}
	kit.Report(r, d.Status.Resource, nil)
	return reconcile.Outcome{}
}
