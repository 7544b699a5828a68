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

// View is what is known of the objects of a kind without asking, usually a cache.
type View interface {
	// Get returns an object as it was last seen, and false when none was. It MUST
	// NOT answer before all objects were seen that were there at the start.
	Get(id object.ID) (Observed, bool)
}

// Observed is what has to be known of an object to decide about it.
type Observed struct {
	UID types.UID
	// Version is the resourceVersion.
	Version string
	// Controller is the uid of the owner that controls the object.
	Controller types.UID
	// Mark is the hash of which fields are ours, and since when.
	Mark string
	// Deleting is set on an object that has been deleted and is still there.
	Deleting bool
}

// Observe reads what has to be known off an object or its metadata. Whoever trims
// what a cache keeps must leave the managed fields of the field owner.
func Observe(obj metav1.Object, fieldOwner string) Observed {
	o := Observed{
		UID: obj.GetUID(), Version: obj.GetResourceVersion(), Deleting: obj.GetDeletionTimestamp() != nil,
	}
	if controller := metav1.GetControllerOfNoCopy(obj); controller != nil {
		o.Controller = controller.UID
	}
	for _, f := range obj.GetManagedFields() {
		if IsOwn(f, fieldOwner) {
			o.Mark = mark(f)
		}
	}
	return o
}

// IsOwn reports whether managed fields are those that a field owner has applied.
func IsOwn(f metav1.ManagedFieldsEntry, fieldOwner string) bool {
	return f.Manager == fieldOwner && f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == ""
}

// mark tells the fields, and since when they are ours: the time changes with their
// values, so that even an edit in our own name is noticed. It is part of inventories,
// so another formula has everything applied again.
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

// Compact returns the managed fields of a field owner with no more in them than
// [Observe] needs of them: a text in place of an object. It is for caches, and worth it:
// each look at an object would read all of its fields otherwise.
func Compact(f metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	kept := &metav1.FieldsV1{}
	kept.SetRawString(strconv.Quote(mark(f)))
	f.FieldsV1 = kept
	return f
}

// canonical brings JSON into one order: some clients keep the API server's, and
// some their own.
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

// hash identifies what is wanted: maps are written in the order of their keys.
func hash(content map[string]any) (string, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("hash object: %w", err)
	}
	sum := sha256.Sum256(text)
	return short(sum[:]), nil
}

// short keeps enough of a hash that no two objects of one name meet.
func short(sum []byte) string { return hex.EncodeToString(sum[:16]) }
