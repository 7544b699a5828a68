package builtin_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/relation/builtin"
)

// definition has the used fields of a type in the API server's OpenAPI document.
type definition struct {
	Type                 string                                  `json:"type"`
	Ref                  string                                  `json:"$ref"`
	Properties           map[string]definition                   `json:"properties"`
	Items                *definition                             `json:"items"`
	AdditionalProperties *definition                             `json:"additionalProperties"`
	Kinds                []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// TestEveryReference walks the schema of every kind that the API server serves. A field that
// looks like a reference is declared, or excused with a reason. So a new version of Kubernetes
// fails this test until its new references are declared.
func TestEveryReference(t *testing.T) {
	w := walker{types: definitions(t), declared: declared(), excused: map[string]bool{}}
	for _, gvk := range servedKinds(t) {
		for name, d := range w.types {
			if slices.ContainsFunc(d.Kinds, func(k struct{ Group, Version, Kind string }) bool {
				return k == struct{ Group, Version, Kind string }{gvk.Group, gvk.Version, gvk.Kind}
			}) {
				w.kind, w.seen = gvk.GroupKind(), map[string]bool{}
				w.walk(name, "", nil)
				w.stale(t)
			}
		}
	}
	slices.Sort(w.found)
	for _, field := range slices.Compact(w.found) {
		t.Errorf("%s looks like a reference: declare or excuse it", field)
	}
	for field := range excuses {
		if !w.excused[field] {
			t.Errorf("%s is excused, and there is no such field", field)
		}
	}
}

// declared returns the paths of the declared references, by kind.
func declared() map[schema.GroupKind]map[string]bool {
	paths := map[schema.GroupKind]map[string]bool{}
	for _, r := range builtin.Relations() {
		if paths[r.Declarer] == nil {
			paths[r.Declarer] = map[string]bool{}
		}
		paths[r.Declarer][r.Field] = true
	}
	return paths
}

func definitions(t *testing.T) map[string]definition {
	t.Helper()
	c := discovery.NewDiscoveryClientForConfigOrDie(testenv.Config(t))
	text, err := c.RESTClient().Get().AbsPath("/openapi/v2").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Definitions map[string]definition `json:"definitions"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document.Definitions
}

// servedKinds returns the kinds whose objects the API server stores, in their preferred
// versions.
func servedKinds(t *testing.T) []schema.GroupVersionKind {
	t.Helper()
	c := discovery.NewDiscoveryClientForConfigOrDie(testenv.Config(t))
	lists, err := c.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []schema.GroupVersionKind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "watch") {
				kinds = append(kinds, gv.WithKind(r.Kind))
			}
		}
	}
	return kinds
}

// walker looks for fields that look like references.
type walker struct {
	types    map[string]definition
	declared map[schema.GroupKind]map[string]bool
	kind     schema.GroupKind
	seen     map[string]bool // paths of the kind that are in the schema
	excused  map[string]bool
	found    []string
}

var (
	// holdsReference matches the types whose field "name" names another object.
	holdsReference = regexp.MustCompile(`(Reference|Ref|KeySelector|EnvSource|Projection|VolumeSource|Subject|` +
		`ServiceBackend|Parameters|ParamRef|ServiceAccountSubject)$`)
	namesObject = regexp.MustCompile(`[a-z](Name|Names|ClassName|Ref)$`)
)

// walk follows a type's fields. within are the types that the path came through: a type that
// holds itself, such as a JSON schema, is entered once.
func (w *walker) walk(name, path string, within []string) {
	if slices.Contains(within, name) || strings.HasSuffix(name, ".ObjectMeta") {
		return
	}
	within = append(slices.Clone(within), name)
	d := w.types[name]
	for _, field := range slices.Sorted(maps.Keys(d.Properties)) {
		if path == "" && field == "status" {
			continue
		}
		w.field(short(name), field, strings.TrimPrefix(path+"."+field, "."), d.Properties[field], within)
	}
}

func (w *walker) field(in, field, path string, d definition, within []string) {
	for d.Items != nil {
		d, path = *d.Items, path+"[*]"
	}
	w.seen[path] = true
	if below := w.kind.Kind + "/" + path; excuses[below] != "" {
		w.excused[below] = true
		return
	}
	target := strings.TrimPrefix(d.Ref, "#/definitions/")
	switch {
	case w.declared[w.kind][path]:
	case !looksLikeReference(in, field, d, short(target)):
	case excuses[in+"."+field] != "":
		w.excused[in+"."+field] = true
	default:
		w.found = append(w.found, w.kind.String()+" "+path+" ("+in+"."+field+")")
	}
	if target != "" && (!w.declared[w.kind][path] || short(target) == "PodSpec") {
		w.walk(target, path, within)
	}
}

func looksLikeReference(in, field string, d definition, target string) bool {
	switch {
	case d.Type == "string" && field == "name":
		return holdsReference.MatchString(in)
	case d.Type == "string":
		return namesObject.MatchString(field)
	case target == "LabelSelector":
		return true
	case d.AdditionalProperties != nil:
		return field == "selector" || field == "nodeSelector"
	}
	return false
}

// stale reports declared paths that the schema of the kind lacks.
func (w *walker) stale(t *testing.T) {
	t.Helper()
	for path := range w.declared[w.kind] {
		if !w.seen[path] {
			t.Errorf("%s has no field %s", w.kind, path)
		}
	}
}

func short(name string) string { return name[strings.LastIndex(name, ".")+1:] }
