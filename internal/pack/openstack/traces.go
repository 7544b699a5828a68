package openstack

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// traces finds the finalizers of the pack, on its own kinds and on Secrets. The resources
// themselves stay in OpenStack.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	var all pack.Traces
	ours := func(f string) bool { return strings.HasPrefix(f, kit.Group+"/") }
	var err error
	if all.Found, err = r.Finalizers(ctx, corev1.SchemeGroupVersion.WithResource("secrets"), "", ours); err != nil {
		return all, err
	}
	for _, resource := range resources("") {
		found, err := r.Finalizers(ctx, openstackv1alpha1.GroupVersion.WithResource(resource),
			"what they stand for stays in OpenStack", ours)
		if err != nil {
			return all, err
		}
		all.Found = append(all.Found, found...)
	}
	return all, nil
}
