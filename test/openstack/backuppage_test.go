package openstack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const backupPage = "../../docs/backup-and-restore.md"

// TestBackupPage runs the commands of the page for this pack, in its order, with a namespace that is lost
// between the backup and the restoration.
func TestBackupPage(t *testing.T) {
	first := operator.Start(t, only)
	w := untidyWorld(t)
	w.apply(connected...)
	w.apply(managed("Network", "net", "{}"))
	w.allAvailable()
	dir := t.TempDir()
	backup, before, inCloud := w.objects(), w.statesOf(), w.cloud.Inventory()
	blocks := testenv.PageCommands(t, backupPage, "Objects of OpenStack")
	if len(blocks) != 5 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	w.sh(dir, blocks[0])
	if err := first.Stop(); err != nil { // The operator would restore finalizers.
		t.Fatal(err)
	}
	w.lose(append(backup, w.get("Secret", "cloud")))
	operator.Start(t, only)
	t.Cleanup(func() { w.tidyUp(); w.empty() })
	w.sh(dir, blocks[1])
	w.asks(backup)
	for line := range strings.SplitSeq(strings.TrimSpace(blocks[2]), "\n") {
		args, is := strings.CutPrefix(line, "kubectl kinship ")
		if !is {
			t.Fatalf("%q does not call the plugin", line)
		}
		args = strings.NewReplacer(`"$NAMESPACE"`, w.ns, "backup.yaml", filepath.Join(dir, "backup.yaml")).Replace(args)
		w.kinship(strings.Fields(args)...)
	}
	w.sh(dir, blocks[3])
	w.allAvailable()
	if diff := cmp.Diff(before, w.statesOf()); diff != "" {
		t.Errorf("objects (-as they were +adopted):\n%s", diff)
	}
	if diff := cmp.Diff(inCloud, w.cloud.Inventory()); diff != "" {
		t.Errorf("in the cloud (-as it was +adopted):\n%s", diff)
	}
	w.anew(dir, blocks[4])
}

// anew loses one object again, and creates another resource for it as the page describes.
func (w *world) anew(dir, commands string) {
	w.t.Helper()
	old := w.get("Network", "net")
	if err := os.WriteFile(filepath.Join(dir, "net.yaml"), []byte(fmt.Sprintf(`
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata:
  name: theirs
  namespace: %s
  finalizers: [openstack.k-orc.cloud/network]
  annotations: {openstack.k-orc.cloud/creation-intent: '{"uid":"%s","name":"net"}'}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin}, resource: {}}
`, w.ns, old.GetUID())), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.sh(dir, "kubectl apply -f net.yaml")
	w.fails("Network", "theirs", "InvalidConfiguration")
	w.sh(dir, strings.Replace(commands, "network net", "network theirs", 1))
	w.available("Network", "theirs")
}

// sh runs commands with the namespace and the cluster of the test.
func (w *world) sh(dir, commands string) {
	w.t.Helper()
	testenv.Shell(w.t, dir, w.ns, commands)
}
