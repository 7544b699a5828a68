package object_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestIsOwnedBy: the uid decides, with and without a controller. A former owner of the same name is none.
func TestIsOwnedBy(t *testing.T) {
	controller := true
	obj := &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{Name: "a", UID: "1"}, {Name: "b", UID: "2", Controller: &controller},
	}}
	for uid, want := range map[string]bool{"1": true, "2": true, "3": false, "": false} {
		if got := object.IsOwnedBy(obj, types.UID(uid)); got != want {
			t.Errorf("%q: %t, want %t", uid, got, want)
		}
	}
}
