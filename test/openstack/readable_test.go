package openstack_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestReadable: an object that the operator can't decode does not stop the operator.
func TestReadable(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := openstackv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	namespace := testenv.Namespace(t)
	for _, m := range immutables {
		t.Run(m.kind, func(t *testing.T) {
			t.Parallel()
			text := m.manifest("it", m.full)
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text[:len(text)-len("---")]), &obj.Object); err != nil {
				t.Fatal(err)
			}
			obj.SetNamespace(namespace)
			if err := unstructured.SetNestedField(obj.Object, "10m", "spec", "resyncPeriod"); err != nil {
				t.Fatal(err)
			}
			testenv.CheckReadable(t, obj, func() client.Object {
				typed, err := scheme.New(openstackv1alpha1.GroupVersion.WithKind(m.kind))
				if err != nil {
					t.Fatal(err)
				}
				return typed.(client.Object)
			})
		})
	}
}
