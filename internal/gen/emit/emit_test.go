package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/gen/emit"
)

// update is the variable with which the tests write the golden files.
const update = "KINSHIP_UPDATE"

// example has a declaration of each sort.
func example() emit.Package {
	return emit.Package{
		Name: "v1", Generator: "a test", Module: "example.com/own",
		Imports: []emit.Import{
			{Name: "sharedv1", Path: "example.com/own/api/shared/v1"},
			{Name: "cmp", Path: "cmp"},
			{Name: "metav1", Path: "k8s.io/apimachinery/pkg/apis/meta/v1"},
			{Name: "runtime", Path: "k8s.io/apimachinery/pkg/runtime"},
			{Name: "strings", Path: "strings"}, // No file uses strings.
		},
		Declared: []string{"GroupVersion"},
		Files: []emit.File{{Name: "zz_generated.network.go", Declarations: []emit.Declaration{
			emit.Struct{
				Name: "Network", Doc: "Network is a network of a cloud.",
				Markers: []string{"+kubebuilder:object:root=true", "+kubebuilder:subresource:status"},
				Fields: []emit.Field{
					{Type: "metav1.TypeMeta", JSON: ",inline"},
					{Type: "*metav1.ObjectMeta", JSON: "metadata,omitempty"},
					{Name: "Spec", Type: "NetworkSpec", JSON: "spec", Tags: `group:"own" kind:"Spec"`},
					{
						Name: "Import", Type: "*sharedv1.Import", JSON: "import,omitempty",
						Doc: "Import finds a network that exists already in the cloud, so that other objects " +
							"can refer to it although Kubernetes neither created it nor will delete it.\n\n" +
							"+optional is text here, and\n# so is this\n\n[Network]: https://example.com",
						Markers: []string{"+optional"},
					},
				},
			},
			emit.Named{
				Name: "MTU", Type: "int32", Doc: "MTU is a size.", Markers: []string{"+kubebuilder:validation:Minimum=68"},
			},
			emit.Consts{Type: "MTU", Values: []emit.Const{
				{Name: "Small", Value: "68", Doc: "Small is the smallest MTU"}, {Name: "Usual", Value: "1500"},
			}},
			emit.Var{Name: "Kind", Value: `GroupVersion.WithKind("Network")`, Doc: "Kind is the kind Network."},
			emit.Func{
				Receiver: "n *Network", Name: "GetImport", Signature: "() (id string, imported bool)",
				Doc: "GetImport returns the id.", Body: `sharedv1 := cmp.Or(n.Import, nil)
return sharedv1.ID, true`,
			},
		}}, {Name: "zz_generated.register.go", Declarations: []emit.Declaration{
			emit.Func{
				Name: "AddToScheme", Signature: "(scheme *runtime.Scheme) error", Doc: "AddToScheme registers.",
				Body: "scheme.AddKnownTypes(GroupVersion, &Network{})\nreturn nil",
			},
		}}},
	}
}

// TestRender compares rendered files with the golden ones. KINSHIP_UPDATE=1 writes them.
func TestRender(t *testing.T) {
	sources, err := example().Render()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		golden := filepath.Join("testdata", s.Name+".golden")
		if os.Getenv(update) != "" {
			if err := os.WriteFile(golden, s.Text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(s.Text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Name, diff)
		}
	}
}

// TestRefusals shows what Render does not write, each with words of its error.
func TestRefusals(t *testing.T) {
	field := func(fields ...emit.Field) emit.Declaration { return emit.Struct{Name: "Port", Fields: fields} }
	function := func(name, signature, body string) emit.Declaration {
		return emit.Func{Receiver: "n *Network", Name: name, Signature: signature, Body: body}
	}
	for name, c := range map[string]struct {
		add  emit.Declaration
		want string
	}{
		"a type twice": {
			emit.Named{Name: "Network", Type: "string"},
			"Network: declared by zz_generated.network.go and by more.go",
		},
		"a name of a hand-written file": {
			emit.Named{Name: "GroupVersion", Type: "string"},
			"GroupVersion: declared by a hand-written file",
		},
		"a name of an import": {
			emit.Named{Name: "metav1", Type: "string"},
			"metav1: declared by the import of k8s.io",
		},
		"a method twice": {
			function("GetImport", "()", ""),
			"Network.GetImport: declared by",
		},
		"a method called like a field": {
			function("Spec", "()", ""),
			"Network.Spec: declared by",
		},
		"a method called like an embedded field": {
			function("TypeMeta", "()", ""),
			"Network.TypeMeta: declared by",
		},
		"a field twice": {
			field(emit.Field{Name: "A", Type: "int"}, emit.Field{Name: "A", Type: "int"}),
			"Port.A: declared by",
		},
		"a JSON name twice": {
			field(emit.Field{Name: "A", Type: "int", JSON: "a"}, emit.Field{Name: "B", Type: "int", JSON: "a,omitempty"}),
			`Port: A and B are both "a" in JSON`,
		},
		"a constant twice": {
			emit.Consts{Values: []emit.Const{{Name: "Small", Value: "1"}}},
			"Small: declared by",
		},
		"a JSON name with a quote": {
			field(emit.Field{Name: "A", Type: "int", JSON: "a`b"}),
			"can't stand in a json tag",
		},
		"a tag with a quote": {
			field(emit.Field{Name: "A", Type: "int", Tags: "a:`b`"}),
			"can't stand in a tag",
		},
		"a type that is two": {
			field(emit.Field{Name: "A", Type: "int\nB int"}),
			"Port.A: type",
		},
		"a type with a comment": {
			field(emit.Field{Name: "A", Type: "int // really"}),
			"has a comment",
		},
		"a package not imported": {
			field(emit.Field{Name: "A", Type: "corev1.Secret"}),
			"Port: nothing is imported or declared as corev1",
		},
		"a name that is none": {
			emit.Named{Name: "Net-work", Type: "string"},
			`"Net-work" is no name of Go`,
		},
		"a keyword": {emit.Var{Name: "type", Value: "1"}, `"type" is no name of Go`},
		"a body that ends early": {
			function("More", "()", "}\nfunc other() {"),
			"More: the text declares 2 things",
		},
		"a body with an error": {function("More", "()", "return return"), "More: "},
		"a marker that is text": {
			emit.Named{Name: "A", Type: "int", Markers: []string{"optional"}},
			"begins with +",
		},
		"a marker of two lines": {
			emit.Named{Name: "A", Type: "int", Markers: []string{"+a\n+b"}},
			"is one line",
		},
		"a marker with two quotes": {
			emit.Named{Name: "A", Type: "int", Markers: []string{"+rule=\"self == ''\""}},
			"gofmt turns",
		},
		"no constant": {emit.Consts{}, "a declaration without a name"},
	} {
		t.Run(name, func(t *testing.T) {
			p := example()
			p.Files = append(p.Files, emit.File{Name: "more.go", Declarations: []emit.Declaration{c.add}})
			if sources, err := p.Render(); err == nil || !strings.Contains(err.Error(), c.want) || sources != nil {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestImportPathTwice refuses two names for one import path.
func TestImportPathTwice(t *testing.T) {
	p := example()
	p.Imports = append(p.Imports, emit.Import{Name: "meta", Path: "k8s.io/apimachinery/pkg/apis/meta/v1"})
	if _, err := p.Render(); err == nil || !strings.Contains(err.Error(), "imported as metav1 and as meta") {
		t.Errorf("got %v", err)
	}
}
