package upgrade_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// objects returns the objects of the examples by kind and name: all in their namespace, and those of the
// kinds of definitions that are in no namespace.
func (w *world) objects() map[string]*unstructured.Unstructured {
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
	all := map[string]*unstructured.Unstructured{}
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
			for i := range found.Items {
				u := &found.Items[i]
				all[fmt.Sprintf("%s.%s/%s", u.GetKind(), gv.Group, u.GetName())] = u
			}
		}
	}
	return all
}

// isWatched reports whether an upgrade must not write the objects of a resource. Events and the objects
// of other controllers that change by themselves are left out.
func isWatched(group string, r metav1.APIResource) bool {
	if !r.Namespaced {
		return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
	}
	return !slices.Contains([]string{"Event", "Lease", "Endpoints", "EndpointSlice", "PodMetrics"}, r.Kind)
}

// unwritten expects that objects are as before: the same uid, generation and content. Where both operators
// are the same program, the status is the same too, but for the times of its conditions: a Usage is not
// Ready until the operator that starts has seen the API server ask for its kind.
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
		diff := cmp.Diff(status(old), status(live))
		switch {
		case cmp.Equal(old.Object["status"], live.Object["status"]):
			w.t.Errorf("%s: %s was written without a change, by %v", what, key, managers(old, live))
		case diff != "" && w.previous == "" && live.GetKind() != "Pod":
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
	return c.Object
}

// status is the status of an object without the times of its conditions.
func status(u *unstructured.Unstructured) map[string]any {
	s, _, _ := unstructured.NestedMap(u.Object, "status")
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
