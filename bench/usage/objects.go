package main

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lockLabel, lockValue and composedLabel are labels of the measured API, the same in all of its
// versions.
const (
	lockLabel     = "crossplane.io/in-use"
	lockValue     = "true"
	composedLabel = "crossplane.io/composite"
)

// runLabel is a label of all objects that a run of this program creates.
const runLabel = "bench.kinship.dev/run"

// pair is the name of a Usage, and the prefix of the names of its two objects: pair.of() and
// pair.by().
type pair string

func (p pair) of() string { return string(p) + "-of" }
func (p pair) by() string { return string(p) + "-by" }

// objectKind is the kind of the used and using objects: a kind that no controller acts upon, such
// as ConfigMap.
type objectKind struct {
	gvr  schema.GroupVersionResource
	kind string
	// content are the required fields besides metadata.
	content map[string]any
}

// A namespaced Usage uses ConfigMaps. A cluster-scoped Usage can't name a namespaced object in
// every implementation, so a cluster-scoped Usage uses RuntimeClasses.
var (
	configMaps = objectKind{
		gvr:  schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		kind: "ConfigMap",
	}
	runtimeClasses = objectKind{
		gvr:     schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"},
		kind:    "RuntimeClass",
		content: map[string]any{"handler": "bench"},
	}
)

func (k objectKind) apiVersion() string { return k.gvr.GroupVersion().String() }

// object returns a used or using object.
func (k objectKind) object(run, name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(object.Object, k.content)
	object.SetAPIVersion(k.apiVersion())
	object.SetKind(k.kind)
	object.SetName(name)
	object.SetLabels(map[string]string{runLabel: run})
	if len(owners) > 0 {
		object.SetOwnerReferences(owners)
	}
	return object
}

// manner says how a Usage is released.
type manner struct {
	// composed makes the Usage wait for its using object, by composedLabel.
	composed bool
	// replay sets spec.replayDeletion: the operator repeats a refused deletion after the release.
	replay bool
}

// usageOf returns the Usage of a pair.
func usageOf(t target, k objectKind, run string, p pair, m manner) *unstructured.Unstructured {
	side := func(name string) map[string]any {
		return map[string]any{
			"apiVersion":  k.apiVersion(),
			"kind":        k.kind,
			"resourceRef": map[string]any{"name": name},
		}
	}
	spec := map[string]any{"of": side(p.of()), "by": side(p.by())}
	if m.replay {
		spec["replayDeletion"] = true
	}
	usage := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	usage.SetAPIVersion(t.apiVersion())
	usage.SetKind(t.kind)
	usage.SetName(string(p))
	labels := map[string]string{runLabel: run}
	if m.composed {
		labels[composedLabel] = run
	}
	usage.SetLabels(labels)
	return usage
}
