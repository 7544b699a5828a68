package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// View shows objects without a request to the API server. Usually a View is a cache, such as
// Stores.
type View interface {
	// Get returns an object as it was last seen, with the mark of a FieldOwner, and false if
	// no such object was seen. Get MUST NOT be called before the initial list is complete.
	Get(id object.ID, fieldOwner string) (Observed, bool)
}

// Observed holds the fields of an object on which an Applier decides (pass.decide).
type Observed struct {
	UID types.UID
	// Version is metadata.resourceVersion.
	Version string
	// Controller is the uid of the object's controller or, if the object has no controller,
	// the uid in ParentAnnotation.
	Controller types.UID
	// Mark is a hash of the fields in metadata.managedFields that belong to the FieldOwner,
	// and of the time of their last change.
	Mark string
	// Deleting is set if the object has a metadata.deletionTimestamp.
	Deleting bool
}

// Observe reads the Observed of a typed, unstructured or metadata-only object. A cache that
// trims objects must keep the fields that [Trim] keeps.
func Observe(obj metav1.Object, fieldOwner string) Observed {
	o := Observed{
		UID: obj.GetUID(), Version: obj.GetResourceVersion(), Deleting: obj.GetDeletionTimestamp() != nil,
	}
	if controller := metav1.GetControllerOfNoCopy(obj); controller != nil {
		o.Controller = controller.UID
	} else {
		_, o.Controller = readParent(obj)
	}
	for _, f := range obj.GetManagedFields() {
		if IsOwn(f, fieldOwner) {
			o.Mark = mark(f)
		}
	}
	return o
}

// Trim returns the metadata of an object without the parts that neither an Applier nor Stores
// needs, such as labels, for a cache that holds many objects. isOwner reports whether a
// manager in metadata.managedFields is a FieldOwner of the Applier.
func Trim(obj metav1.Object, isOwner func(manager string) bool) metav1.ObjectMeta {
	small := metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		DeletionTimestamp: obj.GetDeletionTimestamp(), OwnerReferences: obj.GetOwnerReferences(),
	}
	if parent := obj.GetAnnotations()[ParentAnnotation]; parent != "" {
		small.Annotations = map[string]string{ParentAnnotation: parent}
	}
	for _, f := range obj.GetManagedFields() {
		if isOwner(f.Manager) && IsOwn(f, f.Manager) {
			small.ManagedFields = append(small.ManagedFields, Compact(f))
		}
	}
	return small
}

// IsOwn reports whether an entry of metadata.managedFields belongs to a FieldOwner that uses
// server-side apply.
func IsOwn(f metav1.ManagedFieldsEntry, fieldOwner string) bool {
	return f.Manager == fieldOwner && f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == ""
}

// mark returns a hash of FieldsV1 and Time of an entry in metadata.managedFields. Time changes with
// the values of the fields, so that an edit under the same manager name is noticed too.
// Marks are part of inventories: another formula would have every object applied again.
func mark(f metav1.ManagedFieldsEntry) string {
	if f.FieldsV1 != nil {
		if kept, err := strconv.Unquote(f.FieldsV1.GetRawString()); err == nil {
			return kept
		}
	}
	sum := sha256.New()
	if f.Time != nil {
		fmt.Fprintln(sum, f.Time.Unix())
	}
	if f.FieldsV1 != nil {
		sum.Write(canonical(f.FieldsV1.GetRawBytes()))
	}
	return short(sum.Sum(nil))
}

// Compact replaces an entry's FieldsV1 by the Observed.Mark that [Observe] would compute from
// FieldsV1. A cache that compacts saves memory, and Observe need not parse JSON.
func Compact(f metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	kept := &metav1.FieldsV1{}
	kept.SetRawString(strconv.Quote(mark(f)))
	f.FieldsV1 = kept
	return f
}

// canonical sorts the keys of JSON: the order depends on the client that decoded FieldsV1.
func canonical(text []byte) []byte {
	var content any
	if err := json.Unmarshal(text, &content); err != nil {
		return text
	}
	ordered, err := json.Marshal(content)
	if err != nil {
		return text
	}
	return ordered
}

// hash returns Entry.Hash: a hash of an object's JSON and of Object.FieldOwner. JSON lists the keys
// of a map in order.
func hash(content map[string]any, fieldOwner string) (string, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("hash object: %w", err)
	}
	sum := sha256.Sum256(append(text, fieldOwner...))
	return short(sum[:]), nil
}

// short returns the first 128 bits of a hash.
func short(sum []byte) string { return hex.EncodeToString(sum[:16]) }

// maxFieldManager is how long the API server allows the name of a field manager to be.
const maxFieldManager = 128

// FieldManager returns a name as a field manager, such as "kinship-oam/ManualScalerTrait/web". The end of a
// name that is too long is replaced by a hash, so that two long names are two field managers.
func FieldManager(name string) string {
	if len(name) <= maxFieldManager {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := hex.EncodeToString(sum[:8])
	return name[:maxFieldManager-len(end)] + end
}
