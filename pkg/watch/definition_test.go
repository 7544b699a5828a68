package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// lamps returns the definition of a kind with the given group and one version.
func lamps(group, version string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "lamps." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "lamps", Singular: "lamp", Kind: "Lamp", ListKind: "LampList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{versionNamed(version)},
		},
	}
}

func versionNamed(name string) apiextensionsv1.CustomResourceDefinitionVersion {
	return apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: true, Storage: name == "v1",
		Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
		},
	}
}

// definitionClient returns a client that knows CustomResourceDefinitions.
func definitionClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(testenv.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAwaitDefinition: after AwaitDefinition the API server serves the version, also a version that was added
// to a served kind; after AwaitNoDefinition the kind is gone.
func TestAwaitDefinition(t *testing.T) {
	c, ctx := definitionClient(t), t.Context()
	crd := lamps("await.example.org", "v1")
	if err := c.Create(ctx, crd); err != nil {
		t.Fatal(err)
	}
	if err := watch.AwaitDefinition(ctx, c, crd.Name, "v1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	crd.Spec.Versions = append(crd.Spec.Versions, versionNamed("v2"))
	if err := c.Update(ctx, crd); err != nil {
		t.Fatal(err)
	}
	if err := watch.AwaitDefinition(ctx, c, crd.Name, "v2"); err != nil {
		t.Fatal(err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(crd.GroupVersionKind().GroupVersion().WithKind("LampList"))
	list.APIVersion = "await.example.org/v2"
	if err := c.List(ctx, list); err != nil {
		t.Errorf("the version v2 is not served: %v", err)
	}
	if err := c.Delete(ctx, crd); err != nil {
		t.Fatal(err)
	}
	if err := watch.AwaitNoDefinition(ctx, c, crd.Name); err != nil {
		t.Fatal(err)
	}
	if err := watch.AwaitDefinition(ctx, c, crd.Name, ""); err == nil {
		t.Error("a definition that is gone is no error")
	}
}

// TestAwaitRefusedDefinition: the error has the reason of the API server for names that are in use.
func TestAwaitRefusedDefinition(t *testing.T) {
	c := definitionClient(t)
	first, second := lamps("refused.example.org", "v1"), lamps("refused.example.org", "v1")
	second.Name, second.Spec.Names.Plural = "lights.refused.example.org", "lights"
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{first, second} {
		if err := c.Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), crd); err != nil {
				t.Error(err)
			}
		})
		if crd == first {
			if err := watch.AwaitDefinition(t.Context(), c, crd.Name, "v1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err := watch.AwaitDefinition(ctx, c, second.Name, "v1")
	if err == nil || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("error %v, want the API server's reason", err)
	}
}
