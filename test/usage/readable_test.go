package usage_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestReadable shows that the API server accepts no Usage which the operator can't read.
func TestReadable(t *testing.T) {
	namespace := testenv.Namespace(t)
	for apiVersion, typed := range map[string]map[string]func() client.Object{
		"protection.crossplane.io/v1beta1": {
			"Usage":        func() client.Object { return &protectionv1beta1.Usage{} },
			"ClusterUsage": func() client.Object { return &protectionv1beta1.ClusterUsage{} },
		},
		"apiextensions.crossplane.io/v1alpha1": {"Usage": func() client.Object { return &usagev1alpha1.Usage{} }},
	} {
		for kind, empty := range typed {
			t.Run(apiVersion+" "+kind, func(t *testing.T) {
				text := fmt.Sprintf(`
apiVersion: %s
kind: %s
metadata: {generateName: x}
spec:
  of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: used}}
  by: {apiVersion: v1, kind: ConfigMap, resourceSelector: {matchLabels: {a: b}, matchControllerRef: true}}
  reason: it is precious
  replayDeletion: true
`, apiVersion, kind)
				obj := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
					t.Fatal(err)
				}
				if kind == "Usage" && apiVersion != "apiextensions.crossplane.io/v1alpha1" {
					obj.SetNamespace(namespace)
				}
				testenv.CheckReadable(t, obj, empty)
			})
		}
	}
}
