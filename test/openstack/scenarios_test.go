package openstack_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// A scenario is a file below testdata/scenarios, KIND/NAME.txtar: a story in prose, then the
// steps as kuttl has them, which users of the published API test with.
//
//	NN-assert.yaml  objects, each of which becomes as it is written there
//	NN-errors.yaml  objects, each of which is deleted or becomes different
//	NN-*.yaml       objects to apply, or a TestStep with actions
//
// The spec of an object that is applied again replaces the one before, as with kubectl
// replace: a field that is left out is removed. The actions of a TestStep are "delete", a list of objects, and
// "openstack", a list of resources that somebody else deletes: {delete: COLLECTION, id: ID}.
// The namespace has a Secret "cloud" from the beginning.
//
// As with kuttl, an assert names some of the fields of an object, and lists are compared
// whole. Unlike with kuttl the status is compared whole as well; asserts_test.go tells how,
// and which placeholders stand for what differs from run to run. In objects to apply,
// $clouds is the content of clouds.yaml and $disk the address of an image's content.
type scenarioFile struct {
	kind, name string
	steps      []*scenarioStep
}

// scenarioStep has the files with the same number.
type scenarioStep struct {
	number                   string
	applied, asserts, errors []*unstructured.Unstructured
	actions                  stepActions
}

// stepActions is a TestStep.
type stepActions struct {
	APIVersion, Kind string
	Delete           []struct{ APIVersion, Kind, Name string }
	Openstack        []struct{ Delete, ID string }
}

var stepName = regexp.MustCompile(`^(\d\d)-([a-z0-9-]+)\.yaml$`)

func readScenario(path string) (*scenarioFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseScenario(path, text)
}

func parseScenario(path string, text []byte) (*scenarioFile, error) {
	archive := txtar.Parse(text)
	if len(archive.Files) == 0 {
		return nil, fmt.Errorf("%s has no steps", path)
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		return nil, fmt.Errorf("%s tells no story", path)
	}
	s := &scenarioFile{
		kind: filepath.Base(filepath.Dir(path)), name: strings.TrimSuffix(filepath.Base(path), ".txtar"),
	}
	for _, file := range archive.Files {
		parts := stepName.FindStringSubmatch(file.Name)
		if parts == nil {
			return nil, fmt.Errorf("%s: %s is no step", path, file.Name)
		}
		if len(s.steps) == 0 || s.steps[len(s.steps)-1].number != parts[1] {
			s.steps = append(s.steps, &scenarioStep{number: parts[1]})
		}
		if err := s.steps[len(s.steps)-1].read(parts[2], file.Data); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, file.Name, err)
		}
	}
	if !slices.IsSortedFunc(s.steps, func(a, b *scenarioStep) int { return strings.Compare(a.number, b.number) }) {
		return nil, fmt.Errorf("%s: its steps are not in order", path)
	}
	return s, nil
}

// read adds a file of the step.
func (s *scenarioStep) read(name string, text []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch {
		case u.GetKind() == "TestStep":
			text, err := u.MarshalJSON()
			if err := errors.Join(err, yaml.UnmarshalStrict(text, &s.actions)); err != nil {
				return err
			}
		case name == "assert":
			s.asserts = append(s.asserts, u)
		case name == "errors":
			s.errors = append(s.errors, u)
		default:
			s.applied = append(s.applied, u)
		}
	}
}

// readScenarios reads all files.
func readScenarios(t *testing.T) []*scenarioFile {
	t.Helper()
	paths, err := filepath.Glob("testdata/scenarios/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scenarios: %v", len(paths), err)
	}
	all := make([]*scenarioFile, 0, len(paths))
	for _, path := range paths {
		s, err := readScenario(path)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, s)
	}
	return all
}

// TestScenarios runs each scenario on the emulator, and on the services of
// KINSHIP_OPENSTACK_CLOUDS. These have one cloud for all scenarios, in which no two scenarios
// give a resource the same name.
func TestScenarios(t *testing.T) {
	operator.Start(t, only)
	leavesNothing(t)
	all := readScenarios(t)
	t.Run("emulator", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.kind+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				s.tell(newWorld(t))
			})
		}
	})
	clouds := realClouds(t)
	if clouds == "" {
		return
	}
	image := serveDisk(t)
	t.Run("real", func(t *testing.T) {
		for _, s := range all {
			if s.kind == "sharenetwork" {
				continue // hack/openstack has no Manila.
			}
			t.Run(s.kind+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				w := worldOf(t, clouds, nil)
				w.image = image
				t.Cleanup(w.tidyUp)
				s.tell(w)
			})
		}
	})
}

// telling is a scenario that is being told.
type telling struct {
	*world

	// seen are objects at the end of a step that asserts about them, by "NN Kind/name".
	seen map[string]*unstructured.Unstructured
}

// tell runs one step after the other.
func (s *scenarioFile) tell(w *world) {
	w.t.Helper()
	p := &telling{world: w, seen: map[string]*unstructured.Unstructured{}}
	for _, step := range s.steps {
		p.act(step)
		for _, want := range step.asserts {
			testenv.Eventually(w.t, func() error { return p.holds(step, want) })
		}
		for _, unwanted := range step.errors {
			testenv.Eventually(w.t, func() error { return p.ended(step, unwanted) })
		}
	}
}

// act does the actions of a step before its assertions.
func (p *telling) act(step *scenarioStep) {
	p.t.Helper()
	for _, u := range step.applied {
		wanted := &unstructured.Unstructured{Object: p.fill(u.Object).(map[string]any)}
		wanted.SetNamespace(p.ns)
		if err := p.put(wanted); err != nil {
			p.t.Fatalf("step %s: apply %s %s: %v", step.number, u.GetKind(), u.GetName(), err)
		}
	}
	for _, target := range step.actions.Delete {
		p.delete(target.Kind, target.Name)
	}
	for _, target := range step.actions.Openstack {
		p.deleteOutside(target.Delete, p.fill(target.ID).(string))
	}
}

// put creates an object, or replaces the spec of the existing object.
func (p *telling) put(wanted *unstructured.Unstructured) error {
	err := p.c.Create(p.t.Context(), wanted.DeepCopy())
	for apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		var there *unstructured.Unstructured
		if there, err = p.read(wanted.GetKind() + "/" + wanted.GetName()); err != nil {
			return err
		}
		there.Object["spec"] = wanted.Object["spec"]
		err = p.c.Update(p.t.Context(), there)
	}
	return err
}

// fill replaces the placeholders in objects to apply.
func (p *telling) fill(value any) any {
	p.t.Helper()
	switch value := value.(type) {
	case map[string]any:
		filled := map[string]any{}
		for key, item := range value {
			filled[key] = p.fill(item)
		}
		return filled
	case []any:
		filled := make([]any, 0, len(value))
		for _, item := range value {
			filled = append(filled, p.fill(item))
		}
		return filled
	case string:
		switch value {
		case "$clouds":
			return p.clouds
		case "$disk":
			p.image = p.disk() // The same value from now on.
			return p.image
		}
		filled, err := expand(value, p.lookUp)
		if err != nil {
			p.t.Fatal(err)
		}
		return filled
	}
	return value
}

// lookUp returns the status of an object: of "Kind/name" the present status, of "NN Kind/name"
// the status at the end of a step.
func (p *telling) lookUp(object string) (map[string]any, error) {
	u, known := p.seen[object]
	if !known {
		var err error
		if u, err = p.read(object); err != nil {
			return nil, err
		}
	}
	status, _, err := unstructured.NestedMap(u.Object, "status")
	return status, err
}

// read returns an object, given as "Kind/name".
func (p *telling) read(at string) (*unstructured.Unstructured, error) {
	kind, name, _ := strings.Cut(at, "/")
	u := object(kind).(*unstructured.Unstructured)
	return u, p.c.Get(p.t.Context(), client.ObjectKey{Namespace: p.ns, Name: name}, u)
}

// holds returns the differences between an object and an assert.
func (p *telling) holds(step *scenarioStep, want *unstructured.Unstructured) error {
	at := want.GetKind() + "/" + want.GetName()
	got, err := p.read(at)
	if err != nil {
		return fmt.Errorf("step %s: %w", step.number, err)
	}
	if differences := p.comparison().object(want, got); len(differences) > 0 {
		return fmt.Errorf("step %s: %s:\n%s", step.number, at, strings.Join(differences, "\n"))
	}
	p.seen[step.number+" "+at] = got
	return nil
}

// ended returns an error while an object still matches an NN-errors.yaml.
func (p *telling) ended(step *scenarioStep, unwanted *unstructured.Unstructured) error {
	at := unwanted.GetKind() + "/" + unwanted.GetName()
	got, err := p.read(at)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && len(p.comparison().object(unwanted, got)) == 0 {
		progressing, _ := find(got, "Progressing")
		err = fmt.Errorf("%s is still there, with finalizers %v, and says %q", at, got.GetFinalizers(), progressing.message)
	}
	if err != nil {
		return fmt.Errorf("step %s: %w", step.number, err)
	}
	return nil
}

func (p *telling) comparison() *comparison {
	cloud := "$emulator"
	if p.cloud == nil {
		cloud = "$real"
	}
	return &comparison{cloud: cloud, lookUp: p.lookUp}
}

// namedResources returns the names of the resources that a scenario makes, each with its kind.
func (s *scenarioFile) namedResources() []string {
	var names []string
	for _, step := range s.steps {
		for _, u := range step.applied {
			if u.GroupVersionKind().Group != openstackv1alpha1.GroupVersion.Group {
				continue
			}
			if resource, managed, _ := unstructured.NestedMap(u.Object, "spec", "resource"); managed {
				name, ok := resource["name"].(string)
				if !ok {
					name = u.GetName()
				}
				names = append(names, u.GetKind()+" "+name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
