package usage_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testRestored applies a backup of a Usage and its objects again, after all of them were lost.
// The ownerReference of the Usage has a UID that does not exist, for which the garbage
// collector would delete the Usage.
func testRestored(t *testing.T) {
	for name, orders := range map[string][][]string{
		"using object first": {{"using", "used"}, {"u"}},
		"Usage first":        {{"u"}, {"used"}, {"using"}},
		"all at once":        {{"u", "used", "using"}},
		"applied twice":      {{"using", "used"}, {"u"}, {"u"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			used, using, u := w.protected(true)
			w.refused(used) // The backup contains the record.
			backup := w.backup(u, used, using)
			owners := u.OwnerReferences
			if len(owners) != 1 || owners[0].UID != using.UID {
				t.Fatalf("owners are %+v", owners)
			}
			w.Delete(using)
			w.Gone(u, used)

			for _, names := range orders {
				w.restore(backup, names...)
			}
			w.ready(u)
			if err := w.Read(using); err != nil {
				t.Fatal(err)
			}
			owners[0].UID = using.UID
			if diff := cmp.Diff(owners, u.OwnerReferences); diff != "" {
				t.Errorf("owners (-as they should be +restored):\n%s", diff)
			}
			if bound := u.Status.Using; bound == nil || bound.UID != using.UID || len(u.Status.Refused) > 0 {
				t.Errorf("status %+v", u.Status)
			}
			w.locked(used)
			w.refused(used)
			w.Exists(u, used, using)
			w.Delete(using)
			w.Gone(u)
		})
	}
}

// backup reads objects as kubectl prints them, by name.
func (w *world) backup(objects ...client.Object) map[string]string {
	w.T.Helper()
	all := map[string]string{}
	for _, obj := range objects {
		if err := w.Read(obj); err != nil {
			w.T.Fatal(err)
		}
		gvk, err := w.C.GroupVersionKindFor(obj)
		if err != nil {
			w.T.Fatal(err)
		}
		text, err := w.kubectl("get", fmt.Sprintf("%s.%s.%s", gvk.Kind, gvk.Version, gvk.Group), obj.GetName(), "-o", "json")
		if err != nil {
			w.T.Fatal(text)
		}
		all[obj.GetName()] = text
	}
	return all
}

// restore applies the saved objects, as kubectl does. An existing object keeps its UID.
func (w *world) restore(backup map[string]string, names ...string) {
	w.T.Helper()
	var items []any
	for _, name := range names {
		var item map[string]any
		if err := json.Unmarshal([]byte(backup[name]), &item); err != nil {
			w.T.Fatal(err)
		}
		// Else kubectl refuses to apply the object twice.
		metadata := item["metadata"].(map[string]any)
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		items = append(items, item)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	file := filepath.Join(w.T.TempDir(), "backup.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	if out, err := w.kubectl("apply", "-f", file); err != nil {
		w.T.Fatalf("restore %v: %s", names, out)
	}
}

// testBackupPage runs the commands of the page for this pack.
func testBackupPage(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(false)
	commands := testenv.PageCommands(t, "../../docs/backup-and-restore.md", "Usages")
	if len(commands) != 1 {
		t.Fatalf("%d blocks of commands", len(commands))
	}
	save, restore, _ := strings.Cut(strings.TrimSpace(commands[0]), "\n")
	dir := t.TempDir()
	testenv.Shell(t, dir, w.NS, save)
	w.Delete(using)
	w.Gone(u)
	testenv.Shell(t, dir, w.NS, restore)
	w.unready(u, "UsingNotFound")
	w.create(configMap("using"))
	w.ready(u)
	w.refused(used)
}
