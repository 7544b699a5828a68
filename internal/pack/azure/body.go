package azure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
)

// body returns the body of the resource that the spec requests.
func (k *kind) body(s setting) (map[string]any, error) {
	parent, err := k.parentOf(s)
	if err != nil {
		return nil, err
	}
	body, err := k.ToARM(specOf(s.object), catalogue.Conversion{
		Parent: parent, Name: nameOf(s.object), Kinds: k.all,
		Resolve: func(named catalogue.KubernetesReference, targets []catalogue.Target) (string, error) {
			return k.resolve(s, named, targets)
		},
	})
	if err != nil {
		return nil, err
	}
	if !setsName(specOf(s.object)) {
		delete(body, "name") // The id has the name.
	}
	return body, nil
}

// toSend returns the body of a PUT. The body of an exact import also has values that ARM sets, and
// children, which are objects of their own: toSend removes both.
func (k *kind) toSend(s setting) (map[string]any, error) {
	body, err := k.body(s)
	if err != nil {
		return nil, err
	}
	paths := slices.Clone(managed)
	for _, p := range k.definition.Preserved {
		paths = append(paths, p.Path)
	}
	for _, path := range paths {
		unstructured.RemoveNestedField(body, strings.Split(strings.TrimPrefix(path, "/"), "/")...)
	}
	return body, nil
}

// setsName reports whether spec.raw has an entry for the name in the body.
func setsName(spec map[string]any) bool {
	raw, _ := spec[catalogue.RawField].([]any)
	return slices.ContainsFunc(raw, func(entry any) bool {
		m, _ := entry.(map[string]any)
		return m["path"] == catalogue.NamePath
	})
}

// parentOf returns the ARM id of the owner. For an existing resource, parentOf takes the parent
// from status.id.
func (k *kind) parentOf(s setting) (string, error) {
	if known := s.object.GetExternalStatus().ID; known != nil {
		id, err := azure.ParseID(*known)
		if err != nil {
			return "", err
		}
		return id.Parent().String(), nil
	}
	parent, err := k.parent(s)
	return parent.String(), err
}

// resolve returns the ARM id of an object that a reference names.
func (k *kind) resolve(
	s setting, named catalogue.KubernetesReference, targets []catalogue.Target,
) (string, error) {
	gk := k.targetKind(&named, targets)
	if gk == k.GroupVersionKind().GroupKind() && named.Name == s.object.GetName() {
		id, err := k.address(s)
		return id.String(), err
	}
	if id := s.id(gk, named.Name); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("the id of %s/%s isn't known", gk.Kind, named.Name)
}

// preserve adds the children in the body of a live resource to the body of a PUT: without the
// children, the PUT would delete the children, which are objects of their own.
func (k *kind) preserve(body, live map[string]any) {
	for _, p := range k.definition.Preserved {
		path := strings.Split(strings.TrimPrefix(p.Path, "/"), "/")
		children, exists, _ := unstructured.NestedFieldNoCopy(live, path...)
		if _, set, _ := unstructured.NestedFieldNoCopy(body, path...); !exists || set {
			continue
		}
		// SetNestedField fails if a parent of the path is no object. Such a body has no place for
		// children.
		_ = unstructured.SetNestedField(body, children, path...)
	}
}

// differs returns the fields in which a resource differs from the spec.
func (k *kind) differs(in Input, r *resource) []string {
	body, err := k.toSend(k.setting(in))
	if err != nil {
		return []string{"spec"} // Update says what is wrong.
	}
	if azure.IsFailed(stateOf(r.Body)) {
		return []string{"properties.provisioningState"} // Another PUT may succeed.
	}
	before := sentOf(in.Object)
	same := before == digest(body)
	if same && !isTerminal(stateOf(r.Body)) {
		return nil // The resource may not show yet what was sent.
	}
	paths := azure.Compare(body, r.Body, same)
	switch {
	case len(paths) == 0 && before == "": // The resource was imported as the spec wants it.
		setStatus(in.Object, digest(body), "sent")
	case len(paths) == 0 && !same:
		return []string{"a field that was removed"}
	}
	return paths
}

// digest returns a hash of a body.
func digest(body map[string]any) string {
	text, err := json.Marshal(body)
	if err != nil { // A body is made of JSON.
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// sentOf returns status.sent, the digest of the last body that was sent, or "".
func sentOf(obj *external.Unstructured) string {
	sent, _, _ := unstructured.NestedString(obj.Object, "status", "sent")
	return sent
}
