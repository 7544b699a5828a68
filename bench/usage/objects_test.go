package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUsageOf(t *testing.T) {
	legacy := target{"apiextensions.crossplane.io", "v1alpha1", "Usage", "usages"}
	got := usageOf(legacy, runtimeClasses, "run", "a", manner{composed: true, replay: true}).Object
	side := func(name string) map[string]any {
		return map[string]any{
			"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "resourceRef": map[string]any{"name": name},
		}
	}
	want := map[string]any{
		"apiVersion": "apiextensions.crossplane.io/v1alpha1",
		"kind":       "Usage",
		"metadata": map[string]any{
			"name":   "a",
			"labels": map[string]any{runLabel: "run", composedLabel: "run"},
		},
		"spec": map[string]any{"of": side("a-of"), "by": side("a-by"), "replayDeletion": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestObject(t *testing.T) {
	got := configMaps.object("run", "a-of").Object
	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "a-of", "labels": map[string]any{runLabel: "run"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
