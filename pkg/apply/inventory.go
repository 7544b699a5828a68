package apply

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Object is one that a parent wants.
type Object struct {
	*unstructured.Unstructured

	// Wave in which it is created.
	Wave int32
	// Note is kept with the object in the inventory, for whoever reads that.
	Note string
}

// ID returns the identity of the object.
func (o Object) ID() object.ID {
	return object.Of(o.Unstructured, o.GroupVersionKind().GroupKind())
}

// Entry is one object in the inventory of a parent.
type Entry struct {
	object.ID

	// Version of the API that the object was written with.
	Version string
	// UID of the object; empty while it is only intended.
	UID types.UID
	// Wave in which it was created.
	Wave int32
	// Note that came with the object.
	Note string
	// Hash of what was last applied.
	Hash string
	// Mark that the object had when it was last applied.
	Mark string
}

// union returns the inventory together with what is wanted and not in it, in the
// order of creation.
func union(have []Entry, want []Object) (all []Entry, added bool) {
	all = slices.Clone(have)
	for _, o := range want {
		i := find(all, o.ID())
		if i < 0 {
			all, added = append(all, Entry{ID: o.ID()}), true
			i = len(all) - 1
		}
		all[i].Version, all[i].Wave, all[i].Note = o.GroupVersionKind().Version, o.Wave, o.Note
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.Wave, b.Wave) })
	return all, added
}

func find(entries []Entry, id object.ID) int {
	return slices.IndexFunc(entries, func(e Entry) bool { return e.ID == id })
}

// blank returns an object that has the identity of an entry and nothing else.
func (e Entry) blank() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(e.GroupKind().WithVersion(e.Version))
	u.SetNamespace(e.Namespace)
	u.SetName(e.Name)
	return u
}
