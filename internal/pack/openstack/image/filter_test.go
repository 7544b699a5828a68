package image

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
)

// TestFilter: a name with a colon is a name, and no operator of Glance: in:a does not find the image a.
func TestFilter(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "in:a": "eq:in:a", "eq:a": "eq:eq:a", "ubuntu:24.04": "eq:ubuntu:24.04", ":": "eq::",
	} {
		o := &openstackv1alpha1.Image{}
		o.Spec.Import = &openstackv1alpha1.ImageImport{Filter: &openstackv1alpha1.ImageFilter{
			Name: new(openstackv1alpha1.OpenStackName(name)), Tags: []openstackv1alpha1.ImageTag{"a,b", "c"},
		}}
		got := table.FilterQuery(external.Input[object]{Object: o})
		if diff := cmp.Diff(url.Values{"name": {want}, "tag": {"a,b", "c"}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
