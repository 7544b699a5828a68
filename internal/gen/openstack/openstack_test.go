package openstack_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/gen/openstack"
)

// TestGeneratedFile fails when the table and the committed file differ: run make generate.
func TestGeneratedFile(t *testing.T) {
	sources, err := openstack.Package().Render()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "..", "api", "openstack", "v1alpha1", openstack.File)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(sources[0].Text), string(got)); diff != "" {
		t.Errorf("%s is stale, run make generate (-want +got):\n%s", openstack.File, diff)
	}
}

// TestKinds: the table is sorted, and its kinds are those of the scheme.
func TestKinds(t *testing.T) {
	table := make([]string, 0, len(openstack.Kinds))
	for _, k := range openstack.Kinds {
		table = append(table, k.Name)
	}
	if !slices.IsSorted(table) {
		t.Errorf("the table isn't sorted: %v", table)
	}
	scheme := runtime.NewScheme()
	if err := openstackv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var known []string
	for kind, goType := range scheme.KnownTypes(openstackv1alpha1.GroupVersion) {
		own := goType.PkgPath() == reflect.TypeFor[openstackv1alpha1.Network]().PkgPath()
		if own && !strings.HasSuffix(kind, "List") {
			known = append(known, kind)
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(table, known); diff != "" {
		t.Errorf("kinds of the scheme (-table +scheme):\n%s", diff)
	}
}

// TestPlurals: the plural of each definition is the one that apimachinery derives from the
// kind, as the pack does.
func TestPlurals(t *testing.T) {
	for _, k := range openstack.Kinds {
		resource, _ := meta.UnsafeGuessKindToResource(openstackv1alpha1.GroupVersion.WithKind(k.Name))
		text, err := config.Definitions.ReadFile("crd/" + resource.Group + "_" + resource.Resource + ".yaml")
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		var definition struct {
			Spec struct {
				Names struct{ Kind, Plural string }
			}
		}
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		if got := definition.Spec.Names; got.Kind != k.Name || got.Plural != resource.Resource {
			t.Errorf("the definition of %s has the names %+v", k.Name, got)
		}
	}
}
