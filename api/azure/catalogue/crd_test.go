package catalogue_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// TestDefinitions: the API server accepts the definition of each kind of the embedded catalogue. Without
// KINSHIP_ALL_KINDS, the test takes the default kinds and each 20th other.
func TestDefinitions(t *testing.T) {
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	largest, where := 0, ""
	for i, k := range all.Kinds() {
		if i%20 != 0 && !k.Default && os.Getenv("KINSHIP_ALL_KINDS") == "" {
			continue
		}
		crd, err := catalogue.CRD(all, []*catalogue.Kind{k})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > largest {
			largest, where = len(text), k.Type
		}
		var v1 apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal(text, &v1); err != nil {
			t.Fatal(err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(&v1)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
		v1.Status.StoredVersions = []string{k.Version}
		var internal apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
			&v1, &internal, nil); err != nil {
			t.Fatal(err)
		}
		if errs := validation.ValidateCustomResourceDefinition(t.Context(), &internal); len(errs) > 0 {
			text := errs.ToAggregate().Error()
			t.Errorf("%s in %s: %d errors: %.600s", k.Type, k.APIVersion, len(errs), text)
		}
	}
	t.Logf("the largest definition has %d bytes: %s", largest, where)
}

// TestPagesShowColumns: a page that shows the column MESSAGE has kubectl print the column, whose priority is 1.
func TestPagesShowColumns(t *testing.T) {
	shown := 0
	for _, page := range []string{"docs/spec/azure/azure.md", "examples/azure/README.md"} {
		text, err := os.ReadFile("../../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			says := strings.Contains(line, "MESSAGE") && i > 0 && strings.Contains(lines[i-1], "kubectl get") &&
				!strings.Contains(lines[i-1], "-o wide")
			says = says || strings.Contains(line, "waits for") && strings.HasPrefix(line, "kubectl get") &&
				!strings.Contains(line, "-o wide")
			if strings.Contains(line, "-o wide") {
				shown++
			}
			if says {
				t.Errorf("%s:%d shows messages that kubectl prints with -o wide only", page, i+1)
			}
		}
	}
	if shown != 2 {
		t.Errorf("%d commands with -o wide, want 2", shown)
	}
}
