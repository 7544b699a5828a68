package usage

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// TestShareDetails: restoreDetails returns the details annotation that a Usage had before
// shareStrings, however often shareStrings was called. Usages with equal details share one map.
func TestShareDetails(t *testing.T) {
	details := func(text string) map[string]string { return map[string]string{detailsAnnotation: text} }
	cases := map[string]struct {
		reason     string
		have, want map[string]string
	}{
		"as described": {"they are made anew", details("kept"), details("kept")},
		"of another":   {"they are to be corrected", details("no"), details("no")},
		"none":         {"they are to be written", nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cached := protects("kept", maps.Clone(c.have))
			shareStrings(cached)
			shareStrings(cached)
			read := cached.DeepCopy()
			restoreDetails(read)
			if got := read.GetAnnotations(); !maps.Equal(got, c.want) {
				t.Errorf("%s: annotations are %v, want %v", c.reason, got, c.want)
			}
		})
	}
	a, b := protects("a", details("a")), protects("b", details("b"))
	shareStrings(a)
	shareStrings(b)
	a.Annotations["kinship"] = "shared"
	defer delete(a.Annotations, "kinship")
	if b.Annotations["kinship"] != "shared" {
		t.Errorf("annotations in the cache are two: %v and %v", a.Annotations, b.Annotations)
	}
}

// protects returns a Usage that protects for a reason.
func protects(reason string, annotations map[string]string) *protectionv1beta1.ClusterUsage {
	return &protectionv1beta1.ClusterUsage{
		ObjectMeta: metav1.ObjectMeta{Name: "u", Annotations: annotations},
		Spec:       sharedv1alpha1.UsageSpec{Reason: &reason},
	}
}
