package testenv

import (
	"fmt"
	"testing"
	"time"

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
	last    string // metadata.resourceVersion of the last version that was returned
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
	return &Versions{t: t, watched: watched}
}

// Until returns the versions since the last call, up to the version with a metadata.resourceVersion.
func (v *Versions) Until(resourceVersion string) []*unstructured.Unstructured {
	v.t.Helper()
	if v.last == resourceVersion {
		return nil
	}
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
	for late := time.After(eventuallyTimeout); ; {
		select {
		case <-late:
			v.t.Fatalf("testenv: the watch has not shown the version within %v, after %d versions", eventuallyTimeout, len(all))
		case event, isOpen := <-v.watched.ResultChan():
			u, isObject := event.Object.(*unstructured.Unstructured)
			if !isOpen || !isObject {
				v.t.Fatalf("testenv: the watch has ended with %v", event.Object)
			}
			if event.Type != watch.Deleted {
				all = append(all, u)
				v.last = u.GetResourceVersion()
			}
			if isLast(event, u) {
				return all
			}
		}
	}
}

// Relapses describes the conditions of types that were True and ceased to be, before the deletion of the object began.
// A user who waits for the condition, or an alert, was told of a fault that was none.
func Relapses(versions []*unstructured.Unstructured, types ...string) []string {
	return relapses(versions, types, false)
}

// RelapsesOfGeneration is like Relapses, but a condition may cease to be True with a change of spec: what counts is
// within one metadata.generation.
func RelapsesOfGeneration(versions []*unstructured.Unstructured, types ...string) []string {
	return relapses(versions, types, true)
}

func relapses(versions []*unstructured.Unstructured, types []string, perGeneration bool) []string {
	var found []string
	for _, kind := range types {
		was, generation := false, int64(0)
		for _, u := range versions {
			c := conditionOf(u, kind)
			if u.GetDeletionTimestamp() != nil {
				break
			}
			if perGeneration && c.isTrue && c.generation < u.GetGeneration() {
				continue // The condition is about the former spec.
			}
			if perGeneration && generation != u.GetGeneration() {
				was, generation = false, u.GetGeneration()
			}
			if was && !c.isTrue {
				found = append(found, fmt.Sprintf("%s was True, then %s in generation %d", kind, c.text, u.GetGeneration()))
			}
			was = c.isTrue
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
