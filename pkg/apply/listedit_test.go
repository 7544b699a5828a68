package apply_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/relation"
)

func subject(name string) map[string]any {
	return map[string]any{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
}

// subjects returns the names of the subjects of a RoleBinding.
func (w *world) subjects(binding *unstructured.Unstructured) []string {
	w.t.Helper()
	if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	list, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, item := range list {
		names = append(names, fmt.Sprint(item.(map[string]any)["name"]))
	}
	return names
}

// TestListEdit adds subjects to a RoleBinding of somebody else, and removes subjects.
func TestListEdit(t *testing.T) {
	w := newWorld(t)
	binding := testenv.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}`, testenv.In(w.ns))[0]
	one := func(names ...string) []map[string]any {
		var all []map[string]any
		for _, name := range names {
			all = append(all, subject(name))
		}
		return all
	}
	path := relation.MustPath("subjects")
	for _, step := range []struct {
		reason string
		edit   apply.ListEdit
		want   []string
		writes bool
	}{
		{"nothing is dropped from no list", apply.ListEdit{Path: path, Drop: one("a")}, nil, false},
		{"the list is made", apply.ListEdit{Path: path, Add: one("a")}, []string{"a"}, true},
		{"items are appended, once", apply.ListEdit{Path: path, Add: one("b", "a", "c")}, []string{"a", "b", "c"}, true},
		{"items are there", apply.ListEdit{Path: path, Add: one("c"), Drop: one("d")}, []string{"a", "b", "c"}, false},
		{"by some of the fields", apply.ListEdit{Path: path, Drop: []map[string]any{{"name": "b"}}}, []string{"a", "c"}, true},
		{"dropped and added", apply.ListEdit{Path: path, Add: one("d"), Drop: one("a")}, []string{"c", "d"}, true},
	} {
		before := binding.GetResourceVersion()
		if err := step.edit.Write(t.Context(), w.c, binding, fieldOwner); err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if diff := cmp.Diff(step.want, w.subjects(binding)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
		if wrote := before != binding.GetResourceVersion(); wrote != step.writes {
			t.Errorf("%s: wrote is %t", step.reason, wrote)
		}
	}
	err := apply.ListEdit{Path: relation.MustPath("roleRef"), Add: one("a")}.Write(t.Context(), w.c, binding, fieldOwner)
	wrong, ok := errors.AsType[*relation.FieldError](err)
	if !ok || wrong.Error() != "roleRef: it is an object, not a list" {
		t.Errorf("error %v, want a FieldError", err)
	}
	missing := binding.DeepCopy()
	missing.SetName("none")
	if err := (apply.ListEdit{Path: path, Add: one("a")}).Write(t.Context(), w.c, missing, fieldOwner); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want NotFound", err)
	}
}

// TestListEditAtOnce: many writers add to a list at once, and none fails.
func TestListEditAtOnce(t *testing.T) {
	w := newWorld(t)
	binding := testenv.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: User, name: first, apiGroup: rbac.authorization.k8s.io}]`, testenv.In(w.ns))[0]
	const writers = 8
	var all sync.WaitGroup
	failed := make(chan error, writers)
	for i := range writers {
		all.Go(func() {
			edit := apply.ListEdit{Path: relation.MustPath("subjects"), Add: []map[string]any{subject(fmt.Sprint(i))}}
			failed <- edit.Write(t.Context(), w.c, binding, fieldOwner)
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	if got := w.subjects(binding); len(got) != writers+1 {
		t.Errorf("subjects are %v", got)
	}
}
