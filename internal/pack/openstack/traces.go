package openstack

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// traces finds the finalizers of the pack, on its own kinds and on Secrets. The resources
// themselves stay in OpenStack.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	var all pack.Traces
	resources := make([]schema.GroupVersionResource, 1, 1+len(kinds))
	resources[0] = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	for _, k := range kinds {
		resources = append(resources, openstackv1alpha1.GroupVersion.WithResource(plural(k.name)))
	}
	other := func(f string) bool { return !strings.HasPrefix(f, kit.Group+"/") }
	for _, resource := range resources {
		list, err := r.List(ctx, resource, metav1.ListOptions{})
		if err != nil {
			return all, err
		}
		note := "what they stand for stays in OpenStack"
		if resource.Group == "" {
			note = ""
		}
		for i := range list {
			ours := slices.DeleteFunc(slices.Clone(list[i].Finalizers), other)
			if len(ours) > 0 {
				all.Found = append(all.Found, pack.Trace{
					Resource: resource, Object: &list[i], Finalizers: ours, Note: note,
				})
			}
		}
	}
	return all, nil
}
