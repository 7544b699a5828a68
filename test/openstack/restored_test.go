package openstack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// asRestored are the objects of a backup as tools restore them.
var asRestored = map[string]func(*unstructured.Unstructured){
	// kubectl apply keeps all metadata. The API server replaces the uid and drops the status.
	"kubectl": func(u *unstructured.Unstructured) {
		u.SetManagedFields(nil)
	},
	// Velero restores managed fields, and neither owner references nor the status.
	"velero": func(u *unstructured.Unstructured) {
		delete(u.Object, "status")
		u.SetUID("")
		u.SetOwnerReferences(nil)
	},
	// Some tools keep no annotations: only the finalizer is left then.
	"no annotations": func(u *unstructured.Unstructured) {
		delete(u.Object, "status")
		u.SetOwnerReferences(nil)
		u.SetAnnotations(nil)
	},
}

// TestRestored saves objects of all kinds, loses them as a lost control plane does, while the
// cloud is unchanged, and restores them. No resource is created twice.
func TestRestored(t *testing.T) {
	first := operator.Start(t, only)
	type loss struct {
		*world
		how     string
		backup  []*unstructured.Unstructured
		before  map[string]state
		inCloud map[string][]emulator.Item
	}
	all := map[string]*loss{}
	for i, name := range slices.Sorted(maps.Keys(movedStacks())) {
		cloud := operator.Cloud(t, emulator.Options{})
		l := &loss{world: worldOf(t, cloud.CloudsYAML(), cloud)}
		l.how = slices.Sorted(maps.Keys(asRestored))[(i+1)%len(asRestored)]
		l.applyHere(movedStacks()[name])
		all[name] = l
	}
	for _, l := range all {
		l.allAvailable()
	}
	for _, l := range all { // A change by another resource is seen at the next comparison.
		l.backup, l.before = l.objects(), l.statesOf()
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		l.inCloud = l.cloud.Inventory()
		l.lose(l.backup)
		l.restore(l.backup, asRestored[l.how])
		l.cloud.ResetCalls()
	}
	operator.Start(t, only)
	for name, l := range all {
		t.Run(name+" by "+l.how, func(t *testing.T) {
			w := *l.world
			w.t = t
			w.asks(l.backup)
			if diff := cmp.Diff(l.inCloud, w.cloud.Inventory()); diff != "" {
				t.Fatalf("in the cloud (-as it was +after restoration):\n%s", diff)
			}
			file := w.save(l.backup)
			w.kinship("openstack", "adopt", "-n", w.ns, "--from", file, "--dry-run")
			w.asks(l.backup)
			w.kinship("openstack", "adopt", "-n", w.ns, "--from", file)
			w.allAvailable()
			for _, u := range l.backup {
				w.available(u.GetKind(), u.GetName())
			}
			if diff := cmp.Diff(l.before, w.statesOf()); diff != "" {
				t.Errorf("objects (-as they were +adopted):\n%s", diff)
			}
			if diff := cmp.Diff(l.inCloud, w.cloud.Inventory()); diff != "" {
				t.Errorf("in the cloud (-as it was +adopted):\n%s", diff)
			}
			if out := w.kinship("openstack", "adopt", "-n", w.ns, "--from", file); strings.Contains(out, "Wrote") {
				t.Errorf("adopted twice:\n%s", out)
			}
			w.vanishes()
		})
	}
}

// lose removes objects without any word to the cloud.
func (w *world) lose(objects []*unstructured.Unstructured) {
	w.t.Helper()
	for _, saved := range objects {
		u := saved.DeepCopy()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := w.c.Patch(w.t.Context(), u, patch); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
		if err := w.c.Delete(w.t.Context(), u); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
	for _, u := range objects {
		w.gone(u.GetKind(), u.GetName())
	}
}

// restore creates objects again, as a tool restores them.
func (w *world) restore(objects []*unstructured.Unstructured, as func(*unstructured.Unstructured)) {
	w.t.Helper()
	for _, saved := range objects {
		u := saved.DeepCopy()
		u.SetResourceVersion("")
		as(u)
		if err := w.c.Create(w.t.Context(), u); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatalf("restore %s/%s: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// asks expects that all objects ask a user, except objects that the garbage collector deletes
// because their owner does not exist.
func (w *world) asks(objects []*unstructured.Unstructured) {
	w.t.Helper()
	for _, saved := range objects {
		if policy, _, _ := unstructured.NestedString(saved.Object, "spec", "managementPolicy"); policy == "unmanaged" {
			continue
		}
		testenv.Eventually(w.t, func() error {
			u := object(saved.GetKind()).(*unstructured.Unstructured)
			err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(saved), u)
			if apierrors.IsNotFound(err) && len(saved.GetOwnerReferences()) > 0 {
				return nil
			}
			if err != nil {
				return err
			}
			got, _ := find(u, "Progressing")
			if got.status != "False" || got.reason != "InvalidConfiguration" || !strings.HasPrefix(got.message, "Restored: ") {
				return fmt.Errorf("%s/%s does not ask: %+v", u.GetKind(), u.GetName(), got)
			}
			return nil
		})
	}
}

// save writes a backup as kubectl prints it.
func (w *world) save(objects []*unstructured.Unstructured) string {
	w.t.Helper()
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, u := range objects {
		items = append(items, u.Object)
	}
	list["items"] = items
	text, err := json.Marshal(list)
	file := filepath.Join(w.t.TempDir(), "backup.yaml")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return file
}

// kinship runs the program and returns its output.
func (w *world) kinship(args ...string) string {
	w.t.Helper()
	var out bytes.Buffer
	args = append([]string{"kinship"}, append(args, "--kubeconfig="+testenv.Kubeconfig(w.t))...)
	if code := cli.Main(w.t.Context(), "test", args, strings.NewReader(""), &out, &out); code != 0 {
		w.t.Fatalf("%v: exit code %d\n%s", args, code, out.String())
	}
	return out.String()
}
