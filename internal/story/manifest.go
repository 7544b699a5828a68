package story

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// compositeLabel is the label of a composite's parts, with the composite's name.
const compositeLabel = "crossplane.io/composite"

// Read returns the objects of a YAML file of manifests, in the order of the file.
func Read(files fs.FS, name string) ([]*unstructured.Unstructured, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read manifests of %s: %w", name, err)
		}
		if len(object.Object) > 0 { // A comment before the first object is no object.
			objects = append(objects, object)
		}
	}
}

// Compose makes objects parts of a composite, as the controllers of Crossplane do:
// metadata.ownerReferences names the composite as the controller, and the label
// crossplane.io/composite has its name.
func Compose(composite *unstructured.Unstructured, objects ...*unstructured.Unstructured) {
	for _, object := range objects {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: composite.GetAPIVersion(), Kind: composite.GetKind(),
			Name: composite.GetName(), UID: composite.GetUID(),
			Controller: new(true), BlockOwnerDeletion: new(true),
		}})
		labels := maps.Clone(object.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		labels[compositeLabel] = composite.GetName()
		object.SetLabels(labels)
	}
}

// ID returns the short name of an object: Kind/name.
func ID(object *unstructured.Unstructured) string { return object.GetKind() + "/" + object.GetName() }
