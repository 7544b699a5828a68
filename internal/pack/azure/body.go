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

// toARM returns the body of the resource that the spec describes.
func (d *desired) toARM() (map[string]any, error) {
	parent, err := d.parentID()
	if err != nil {
		return nil, err
	}
	body, err := d.ToARM(specOf(d.object), catalogue.Conversion{
		Parent: parent, Name: d.nameOf(d.object), Kinds: d.all, Resolve: d.resolve,
	})
	if err != nil {
		return nil, err
	}
	if !setsName(specOf(d.object)) {
		delete(body, "name") // The id has the name.
	}
	return body, nil
}

// toSend computes desired.body. The body of an exact import also has values that ARM sets, and
// children, which are objects of their own: toSend removes both.
func (d *desired) toSend() (map[string]any, error) {
	body, err := d.toARM()
	if err != nil {
		return nil, err
	}
	body = catalogue.Without(catalogue.WithoutManaged(body), catalogue.NamePath)
	for _, p := range d.definition.Preserved {
		body = catalogue.Without(body, catalogue.Path(p.Path))
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

// parentID returns the ARM id of the parent of an existing resource, from status.id. For a resource that
// does not exist, parentID returns desired.ownerID.
func (d *desired) parentID() (string, error) {
	if known := d.object.GetExternalStatus().ID; known != nil {
		id, err := azure.ParseID(*known)
		if err != nil {
			return "", err
		}
		return id.Parent().String(), nil
	}
	owner, err := d.ownerID()
	return owner.String(), err
}

// resolve returns the ARM id of an object that a reference names.
func (d *desired) resolve(named catalogue.KubernetesReference, targets []catalogue.Target) (string, error) {
	gk := d.targetKind(&named, targets)
	if gk == d.GroupVersionKind().GroupKind() && named.Name == d.object.GetName() {
		id, err := d.address()
		return id.String(), err
	}
	if id := d.id(gk, named.Name); id != "" {
		return id, nil
	}
	return "", fmt.Errorf("the id of %s/%s isn't known", gk.Kind, named.Name)
}

// preserve returns a body with the children in the body of a live resource: without the children, a
// PUT would delete the children, which are objects of their own.
func (k *kind) preserve(body, live map[string]any) map[string]any {
	for _, p := range k.definition.Preserved {
		path := strings.Split(strings.TrimPrefix(p.Path, "/"), "/")
		children, exists, _ := unstructured.NestedFieldNoCopy(live, path...)
		if _, set, _ := unstructured.NestedFieldNoCopy(body, path...); exists && !set {
			body = withField(body, children, path...)
		}
	}
	return body
}

// differs returns the fields in which a resource differs from the spec.
func (r *resource) differs() []string {
	body, err := r.desired.body()
	if err != nil {
		return []string{"spec"} // Update says what is wrong.
	}
	if azure.IsFailed(stateOf(r.Body)) {
		return []string{"properties.provisioningState"} // Another PUT may succeed.
	}
	before := sentOf(r.desired.object)
	same := before == digest(body, r.desired.versions)
	if same && !isTerminal(stateOf(r.Body)) {
		return nil // The resource may not show yet what was sent.
	}
	paths := azure.Compare(r.desired.definition.Writable(body), r.Body, same)
	if len(paths) > 0 || before == "" || same {
		return paths
	}
	if len(r.desired.versions) > 0 {
		return []string{"the value of a secret, or a field that was removed"}
	}
	return []string{"a field that was removed"}
}

// digest returns a hash of a body, which has no values of secrets, and of the versions of the Secrets.
func digest(body map[string]any, secrets secretVersions) string {
	text, err := json.Marshal(body)
	if err != nil { // A body is made of JSON.
		panic(err)
	}
	sum := sha256.Sum256(append(text, secrets.String()...))
	return hex.EncodeToString(sum[:16])
}

// sentOf returns status.sent, the digest of the last body that was sent, or "".
func sentOf(obj *external.Unstructured) string {
	sent, _, _ := unstructured.NestedString(obj.Object, "status", "sent")
	return sent
}
