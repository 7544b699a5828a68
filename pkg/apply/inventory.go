package apply

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Hash of what was last applied; empty while that is being changed.
	Hash string
	// Mark that the object had when it was last applied.
	Mark string
}

// desired is an object as it will be sent.
type desired struct {
	Object

	hash string
}

// prepare completes what a parent wants, and returns it in the order of creation.
func prepare(objects []Object, owner metav1.OwnerReference) ([]desired, error) {
	yes := true
	owner.Controller, owner.BlockOwnerDeletion = &yes, &yes
	all := make([]desired, 0, len(objects))
	for _, o := range objects {
		o.Unstructured = o.DeepCopy()
		o.SetOwnerReferences(append(slices.Clone(o.GetOwnerReferences()), owner))
		sum, err := hash(o.Object)
		if err != nil {
			return nil, fmt.Errorf("prepare %s: %w", o.ID(), err)
		}
		all = append(all, desired{o, sum})
	}
	slices.SortStableFunc(all, func(a, b desired) int { return cmp.Compare(a.Wave, b.Wave) })
	return all, nil
}

// intend returns the inventory together with what is wanted and not in it, in the
// order of creation. What will be changed loses its hash: a mark is exact to a
// second, so that a record of what was applied before would look true again if we
// ended between the change and its record. It reports whether there is anything
// that has to be recorded first.
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
		if e.Hash != "" && e.Hash != o.hash {
			e.Hash, e.Mark, news = "", "", true
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.Wave, b.Wave) })
	return all, news
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
