package apply

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Object is an entry of Request.Want.
type Object struct {
	*unstructured.Unstructured

	// Wave in which the object is created.
	Wave int32
	// Note is copied to Entry.Note, for readers of the inventory.
	Note string
	// FieldOwner is the fieldManager of the object; empty means Applier.FieldOwner. Two
	// parents that apply different fields of one object need two FieldOwners. FieldOwner
	// should never change: fields that were applied under a former name are kept.
	FieldOwner string
	// Unowned leaves out the ownerReference. An object in another namespace than the parent,
	// or a cluster-scoped object such as a ClusterRole, MUST be Unowned: the garbage collector
	// would delete the object otherwise. The annotation ParentAnnotation names the parent
	// instead, and Applier.Delete deletes the object like any other.
	Unowned bool
	// Yields leaves each field to another field manager that has set the field to another value since the field was
	// applied, for as long as Yields is set. An example is a workload with a trait, which is there to change the
	// workload. Without Yields, Applier.Rivals decides.
	Yields bool
}

// ID returns the identity of the object.
func (o Object) ID() object.ID {
	return object.Of(o.Unstructured, o.GroupVersionKind().GroupKind())
}

// Entry is an entry of Request.Have and Result.Inventory.
type Entry struct {
	object.ID

	// Version of the API that the object was written with.
	Version string
	// UID of the object; empty until the API server has answered the creation.
	UID types.UID
	// Wave in which the object was created.
	Wave int32
	// Note is Object.Note.
	Note string
	// Hash of the content that was applied last. Request.Record persists an empty Entry.Hash before
	// other content is applied.
	Hash string
	// Mark is Observed.Mark after the last apply.
	Mark string
	// Left says which fields the last apply left to which field managers (Change.Left), or is empty. Left is only
	// for readers of the inventory: an Entry without Left is as good.
	Left string
}

// desired is an object as Applier sends it, with FieldOwner set.
type desired struct {
	Object

	hash string
}

// yielded ends the Entry.Hash of an object without the fields that were left to other field managers because of
// Object.Yields: an object that no longer yields is applied again.
const yielded = "-yielded"

// isApplied reports whether an Entry.Hash is of the wanted content.
func (o desired) isApplied(hash string) bool {
	return hash == o.hash || (o.Yields && hash == o.hash+yielded)
}

// applied records in an Entry that the wanted content was applied but for some fields.
func (e *Entry) applied(o desired, after Observed, left []Left) {
	e.UID, e.Hash, e.Mark, e.Left = after.UID, o.hash, after.Mark, textOf(left)
	if o.Yields && len(left) > 0 {
		e.Hash += yielded
	}
}

// prepare adds Request.Owner and Applier.FieldOwner to the objects of Request.Want, and sorts the
// objects by Object.Wave.
func (a *Applier) prepare(r Request) ([]desired, error) {
	yes, owner := true, r.Owner
	owner.Controller, owner.BlockOwnerDeletion = &yes, &yes
	all := make([]desired, 0, len(r.Want))
	wanted := map[object.ID]bool{}
	for _, o := range r.Want {
		if wanted[o.ID()] { // Each of the two would overwrite the other, in every pass.
			return nil, fmt.Errorf("%s is wanted twice", o.ID())
		}
		wanted[o.ID()] = true
		if slices.Contains(r.Skip, o.ID()) {
			continue
		}
		o.Unstructured = o.DeepCopy()
		if o.Unowned {
			setParent(o.Unstructured, r.Owner, r.Namespace)
		} else {
			o.SetOwnerReferences(append(slices.Clone(o.GetOwnerReferences()), owner))
		}
		sum, err := hash(o.Object, o.FieldOwner)
		if err != nil {
			return nil, fmt.Errorf("prepare %s: %w", o.ID(), err)
		}
		o.FieldOwner = cmp.Or(o.FieldOwner, a.FieldOwner)
		all = append(all, desired{o, sum})
	}
	slices.SortStableFunc(all, func(a, b desired) int { return cmp.Compare(a.Wave, b.Wave) })
	return all, nil
}

// intend returns the inventory with an Entry for every wanted object, in the order of
// creation, and reports whether Request.Record has to persist the inventory first. An object
// whose content will change loses Entry.Hash. Otherwise, if the process ended between the
// change and the next record, the old Hash could look valid: Entry.Mark is exact to a second.
func intend(have []Entry, want []desired) (all []Entry, news bool) {
	all = slices.Clone(have)
	for _, o := range want {
		i := find(all, o.ID())
		if i < 0 {
			all, news = append(all, Entry{ID: o.ID()}), true
			i = len(all) - 1
		}
		e := &all[i]
		e.Version, e.Wave, e.Note = o.GroupVersionKind().Version, o.Wave, o.Note
		if e.Hash != "" && !o.isApplied(e.Hash) {
			e.Hash, e.Mark, news = "", "", true
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.Wave, b.Wave) })
	return all, news
}

func find(entries []Entry, id object.ID) int {
	return slices.IndexFunc(entries, func(e Entry) bool { return e.ID == id })
}

// blank returns an object that has the ID of an entry and no other field.
func (e Entry) blank() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(e.GroupKind().WithVersion(e.Version))
	u.SetNamespace(e.Namespace)
	u.SetName(e.Name)
	return u
}
