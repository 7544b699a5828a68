package upgrade_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// objects returns the objects of the examples by kind and name: all in their namespace, and those of the
// kinds of definitions that are in no namespace.
func (w *world) objects() map[string]*unstructured.Unstructured {
	w.t.Helper()
	all := map[string]*unstructured.Unstructured{}
	w.eachResource(func(_ dynamic.ResourceInterface, found *unstructured.UnstructuredList) {
		for i := range found.Items {
			all[keyOf(&found.Items[i])] = &found.Items[i]
		}
	})
	return all
}

// keyOf returns the kind and the name of an object.
func keyOf(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s.%s/%s", u.GetKind(), u.GroupVersionKind().Group, u.GetName())
}

// eachResource calls visit with the objects of each resource that isWatched chooses.
func (w *world) eachResource(visit func(resource dynamic.ResourceInterface, found *unstructured.UnstructuredList)) {
	w.t.Helper()
	config := testenv.Config(w.t)
	config.WarningHandler, config.QPS = rest.NoWarnings{}, -1 // Some API versions are deprecated.
	disc, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	reader, err := dynamic.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	lists, err := disc.ServerPreferredResources()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || !isWatched(gv.Group, r) {
				continue
			}
			var resource dynamic.ResourceInterface = reader.Resource(gv.WithResource(r.Name))
			if r.Namespaced {
				resource = reader.Resource(gv.WithResource(r.Name)).Namespace(stories)
			}
			found, err := resource.List(w.t.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				w.t.Fatal(err)
			}
			visit(resource, found)
		}
	}
}

// mostWrites is how often one object may be written during an exchange of operators. A new object takes two
// writes.
const mostWrites = 4

// countWrites counts the writes of each object of the resources that have objects now. The returned function
// expects that no object was written more than mostWrites times: an operator that starts reads all objects at
// once, and must not write them again and again.
func (w *world) countWrites() (check func(what string)) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	var mu sync.Mutex
	var watches sync.WaitGroup
	writes := map[string]int{}
	w.eachResource(func(resource dynamic.ResourceInterface, found *unstructured.UnstructuredList) {
		if len(found.Items) == 0 {
			return
		}
		events, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: found.GetResourceVersion()})
		if err != nil {
			w.t.Fatal(err)
		}
		watches.Go(func() {
			for e := range events.ResultChan() {
				if u, is := e.Object.(*unstructured.Unstructured); is && e.Type == watch.Modified {
					mu.Lock()
					writes[keyOf(u)]++
					mu.Unlock()
				}
			}
		})
	})
	return func(what string) {
		w.t.Helper()
		cancel()
		watches.Wait()
		for _, key := range slices.Sorted(maps.Keys(writes)) {
			w.t.Logf("%s: %s was written %d times", what, key, writes[key])
			if writes[key] > mostWrites {
				w.t.Errorf("%s: %s was written %d times, want at most %d", what, key, writes[key], mostWrites)
			}
		}
	}
}

// isWatched reports whether an upgrade must not write the objects of a resource. Events and the objects
// of other controllers that change by themselves are left out.
func isWatched(group string, r metav1.APIResource) bool {
	if !r.Namespaced {
		return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
	}
	return !slices.Contains([]string{"Event", "Lease", "Endpoints", "EndpointSlice", "PodMetrics"}, r.Kind)
}

// unwritten expects that objects are as before: the same uid, generation and content. The status is the same
// too, but for the times of its conditions: a Usage is not Ready until the operator that starts has seen the
// API server ask for its kind. No status differs between the previous program and this one. If an intended
// change makes one differ, name its field and the reason in status.
func (w *world) unwritten(what string, before map[string]*unstructured.Unstructured, except ...string) {
	w.t.Helper()
	now, statuses := w.objects(), 0
	for _, key := range slices.Sorted(maps.Keys(before)) {
		old, live := before[key], now[key]
		if slices.ContainsFunc(except, func(part string) bool { return strings.Contains(key, part) }) {
			continue
		}
		if live == nil {
			w.t.Errorf("%s: %s is gone", what, key)
			continue
		}
		if diff := cmp.Diff(content(old), content(live)); diff != "" {
			w.t.Errorf("%s: %s was changed (-before +after):\n%s", what, key, diff)
		}
		if old.GetResourceVersion() == live.GetResourceVersion() {
			continue
		}
		statuses++
		w.t.Logf("%s: %s was written by %v", what, key, managers(old, live))
		diff := cmp.Diff(status(old), status(live))
		switch {
		case hasRenderedAuthors(old) != hasRenderedAuthors(live):
			w.t.Logf("%s: %s names its authors as the other release does", what, key)
		case cmp.Equal(old.Object["status"], live.Object["status"]):
			w.t.Errorf("%s: %s was written without a change, by %v", what, key, managers(old, live))
		case diff != "" && live.GetKind() != "Pod":
			w.t.Errorf("%s: the status of %s was written (-before +after):\n%s", what, key, diff)
		case diff != "":
			w.t.Logf("%s: the status of %s (-before +after):\n%s", what, key, diff)
		}
	}
	w.t.Logf("%s: %d objects compared, %d statuses were written", what, len(before), statuses)
}

// content is an object without its status and what each write changes.
func content(u *unstructured.Unstructured) map[string]any {
	c := u.DeepCopy()
	c.SetManagedFields(nil)
	c.SetResourceVersion("")
	delete(c.Object, "status")
	if annotations := c.GetAnnotations(); hasRenderedAuthors(c) {
		annotations[authors] = annotations[renderedAuthors]
		delete(annotations, renderedAuthors)
		c.SetAnnotations(annotations)
	}
	return c.Object
}

// authors is the annotation in which the older operator tells the authors of an object that it renders, and
// renderedAuthors that of this operator.
const authors, renderedAuthors = "kinship.dev/authors", "kinship.dev/rendered-authors"

func hasRenderedAuthors(u *unstructured.Unstructured) bool {
	_, has := u.GetAnnotations()[renderedAuthors]
	return has
}

// status is the status of an object without the times of its conditions, and without what a cloud says of
// the resource: an operator that starts reads each resource anew.
func status(u *unstructured.Unstructured) map[string]any {
	s, _, _ := unstructured.NestedMap(u.Object, "status")
	delete(s, "resource")
	delete(s, "lastSyncTime")
	conditions, _, _ := unstructured.NestedSlice(s, "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			delete(condition, "lastTransitionTime")
		}
	}
	if len(conditions) > 0 {
		s["conditions"] = conditions
	}
	return s
}

// managers returns the field managers of an object whose entry differs from before.
func managers(old, live *unstructured.Unstructured) []string {
	entries := func(u *unstructured.Unstructured) map[string]string {
		all := map[string]string{}
		for _, e := range u.GetManagedFields() {
			text, _ := json.Marshal(e) // An entry that was read can be written.
			all[e.Manager+" "+e.Subresource] = string(text)
		}
		return all
	}
	before, now := entries(old), entries(live)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] != now[name] {
			changed = append(changed, name)
		}
	}
	return changed
}
