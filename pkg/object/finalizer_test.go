package object_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestFinalizer: an object with a former name keeps the name, a new object gets the present name, and all names are
// removed at the end. Names of others stay.
func TestFinalizer(t *testing.T) {
	f := object.Finalizer{Name: "example.com/now", Former: []string{"former", "oldest"}}
	for _, c := range []struct{ before, added, removed []string }{
		{nil, []string{"example.com/now"}, []string{}},
		{[]string{"a"}, []string{"a", "example.com/now"}, []string{"a"}},
		{[]string{"former", "a"}, []string{"former", "a"}, []string{"a"}},
		{[]string{"oldest", "a", "former"}, []string{"oldest", "a", "former"}, []string{"a"}},
		{[]string{"example.com/now"}, []string{"example.com/now"}, []string{}},
	} {
		obj := &metav1.ObjectMeta{Finalizers: c.before}
		f.Add(obj)
		if diff := cmp.Diff(c.added, obj.Finalizers); diff != "" || !f.On(obj) {
			t.Errorf("added to %v (-want +got):\n%s", c.before, diff)
		}
		if !f.Remove(obj) || f.On(obj) || f.Remove(obj) {
			t.Errorf("%v: not removed once", c.before)
		}
		if diff := cmp.Diff(c.removed, obj.Finalizers); diff != "" {
			t.Errorf("removed from %v (-want +got):\n%s", c.added, diff)
		}
	}
}
