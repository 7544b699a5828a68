package project

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe reports a project, which serves as soon as it exists.
func observe(p object, r *kit.Resource) reconcile.Outcome {
	p.Status.Resource = &openstackv1alpha1.ProjectResourceStatus{}
	kit.Report(r, p.Status.Resource, nil)
	return reconcile.Outcome{}
}
