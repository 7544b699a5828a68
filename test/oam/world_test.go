package oam_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// world is the namespace of a test, with the actions and views of an administrator.
type world struct{ testenv.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{testenv.NewWorld(t, operator.Client(t))}
}

// define applies the definitions of all tests.
func define(t *testing.T) {
	t.Helper()
	testenv.ApplyFile(t, "testdata/definitions.yaml")
	testenv.ApplyFile(t, "../../examples/oam/oam.yaml")
}

// write applies a YAML text in the namespace of the test.
func (w *world) write(text string) {
	w.T.Helper()
	testenv.Apply(w.T, text, testenv.In(w.NS))
}

// refused applies a YAML text, and fails the test unless the API server refuses it with a message.
func (w *world) refused(text, message string) {
	w.T.Helper()
	if _, err := testenv.TryApply(w.T, text, testenv.In(w.NS)); err == nil || !strings.Contains(err.Error(), message) {
		w.T.Errorf("answered with %v, want a refusal with %q", err, message)
	}
}

// get waits until an object exists, and meets a condition.
func (w *world) get(kind, name string, meets func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	w.T.Helper()
	u := w.blank(kind, name)
	testenv.Eventually(w.T, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		if meets == nil {
			return nil
		}
		return meets(u)
	})
	return u
}

// kinds are the kinds of the tests.
var kinds = map[string]schema.GroupVersionKind{
	"Deployment":         {Group: "apps", Version: "v1", Kind: "Deployment"},
	"ControllerRevision": {Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	"Service":            {Version: "v1", Kind: "Service"},
	"ConfigMap":          {Version: "v1", Kind: "ConfigMap"},
	"Mydb":               {Group: "standard.oam.dev", Version: "v1alpha2", Kind: "Mydb"},
	"BannerTrait":        {Group: "example.com", Version: "v1", Kind: "BannerTrait"},
	"EtcdBackup":         {Group: "etcd.database.coreos.com", Version: "v1beta2", Kind: "EtcdBackup"},
	"Bar":                {Group: "example.com", Version: "v1", Kind: "Bar"},
	"BarTrait":           {Group: "example.com", Version: "v1", Kind: "BarTrait"},
}

func (w *world) blank(kind, name string) *unstructured.Unstructured {
	gvk, ok := kinds[kind]
	if !ok {
		gvk = oamv1alpha2.GroupVersion.WithKind(kind)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	if !strings.HasSuffix(kind, "Definition") {
		u.SetNamespace(w.NS)
	}
	u.SetName(name)
	return u
}

// field returns a condition that a field of an object has a value.
func field(want any, path ...string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		got, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("%s of %s %s is %v, want %v", strings.Join(path, "."), u.GetKind(), u.GetName(), got, want)
		}
		return nil
	}
}

// synced is a condition that an object is synced in its generation, or that its message has a text.
func synced(message string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		if len(conditions) != 1 {
			return fmt.Errorf("conditions of %s %s are %v, want one", u.GetKind(), u.GetName(), conditions)
		}
		c := conditions[0].(map[string]any)
		said, _ := c["message"].(string)
		if (message == "") != (c["status"] == "True") || !strings.Contains(said, message) || c["type"] != "Synced" {
			return fmt.Errorf("condition of %s %s is %v, want %q", u.GetKind(), u.GetName(), c, message)
		}
		observed, found, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		if found && observed != u.GetGeneration() {
			return fmt.Errorf("observedGeneration is %d, want %d", observed, u.GetGeneration())
		}
		return nil
	}
}

// leaves is a condition that an object is synced, and that its message says which fields are left to others.
func leaves(note string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, item := range conditions {
			c := item.(map[string]any)
			if c["type"] == "Synced" && c["status"] == "True" && c["message"] == note {
				return nil
			}
		}
		return fmt.Errorf("conditions of %s %s are %v, want the note %q", u.GetKind(), u.GetName(), conditions, note)
	}
}

// change reads an object, changes a field and writes the object.
func (w *world) change(kind, name string, value any, path ...string) {
	w.T.Helper()
	u := w.blank(kind, name)
	w.Update(u, func() {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			w.T.Fatal(err)
		}
	})
}

// gone waits until an object does not exist.
func (w *world) gone(kind, name string) {
	w.T.Helper()
	w.Gone(w.blank(kind, name))
}
