package testenv

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Versions is a watch for the versions of one object that the API server stores: each write makes a version.
type Versions struct {
	t       *testing.T
	watched watch.Interface
}

// WatchVersions watches an object, which need not exist yet.
func WatchVersions(t *testing.T, c client.WithWatch, gvk schema.GroupVersionKind, namespace, name string) *Versions {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	one := client.MatchingFields{metav1.ObjectNameField: name}
	watched, err := c.Watch(t.Context(), list, client.InNamespace(namespace), one)
	if err != nil {
		t.Fatalf("testenv: watch %s %s: %v", gvk.Kind, name, err)
	}
	t.Cleanup(watched.Stop)
	return &Versions{t, watched}
}

// Until returns the versions since the last call, up to the version with a metadata.resourceVersion.
func (v *Versions) Until(resourceVersion string) []*unstructured.Unstructured {
	v.t.Helper()
	return v.until(func(_ watch.Event, u *unstructured.Unstructured) bool {
		return u.GetResourceVersion() == resourceVersion
	})
}

// UntilDeleted returns the versions since the last call, up to the end of the object.
func (v *Versions) UntilDeleted() []*unstructured.Unstructured {
	v.t.Helper()
	return v.until(func(e watch.Event, _ *unstructured.Unstructured) bool { return e.Type == watch.Deleted })
}

func (v *Versions) until(isLast func(watch.Event, *unstructured.Unstructured) bool) []*unstructured.Unstructured {
	v.t.Helper()
	var all []*unstructured.Unstructured
	for event := range v.watched.ResultChan() {
		u, isObject := event.Object.(*unstructured.Unstructured)
		if !isObject {
			v.t.Fatalf("testenv: the watch has ended with %v", event.Object)
		}
		if event.Type != watch.Deleted {
			all = append(all, u)
		}
		if isLast(event, u) {
			return all
		}
	}
	v.t.Fatal("testenv: the watch has ended")
	return nil
}

// Relapses describes the conditions of types that were True, then were not, and were True again: a user who waits for
// the condition, or an alert, was told of a fault that was none.
func Relapses(versions []*unstructured.Unstructured, types ...string) []string {
	return relapses(versions, types, func(condition) int64 { return 0 })
}

// RelapsesOfGeneration is like Relapses, but a condition may cease to be True for a change of spec: what counts is
// within one observedGeneration.
func RelapsesOfGeneration(versions []*unstructured.Unstructured, types ...string) []string {
	return relapses(versions, types, func(c condition) int64 { return c.generation })
}

func relapses(
	versions []*unstructured.Unstructured, types []string, period func(condition) int64,
) []string {
	var found []string
	for _, kind := range types {
		was, since := map[int64]bool{}, map[int64]string{}
		for _, u := range versions {
			c := conditionOf(u, kind)
			p := period(c)
			switch {
			case was[p] && !c.isTrue && since[p] == "":
				since[p] = c.text
			case c.isTrue && since[p] != "":
				found = append(found, fmt.Sprintf("%s was True, then %s, and True again", kind, since[p]))
				since[p] = ""
			}
			was[p] = was[p] || c.isTrue
		}
	}
	return found
}

type condition struct {
	isTrue     bool
	generation int64 // observedGeneration
	text       string
}

func conditionOf(u *unstructured.Unstructured, kind string) condition {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, one := range all {
		c, ok := one.(map[string]any)
		if !ok || c["type"] != kind {
			continue
		}
		generation, _, _ := unstructured.NestedInt64(c, "observedGeneration")
		text := fmt.Sprintf("%v (%v: %v)", c["status"], c["reason"], c["message"])
		return condition{c["status"] == "True", generation, text}
	}
	return condition{text: "missing"}
}

// Writes returns how many versions have each metadata.generation: the change of the spec, and the writes that follow.
func Writes(versions []*unstructured.Unstructured) map[int64]int {
	count := map[int64]int{}
	for _, u := range versions {
		count[u.GetGeneration()]++
	}
	return count
}
