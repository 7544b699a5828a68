package oam_test

import (
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/test/operator"
)

// revision returns a ControllerRevision of Component db, with an author of choice.
func revision(name string, number int, metadata string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: %s
  annotations: {kinship.dev/authors: '[{"username":"boss","groups":["system:masters"]}]'}
  %s
revision: %d
data:
  apiVersion: core.oam.dev/v1alpha2
  kind: Component
  metadata: {name: db}
  spec: {workload: {apiVersion: example.com/v1, kind: Bar, spec: {key: 666}}}`, name, metadata, number)
}

// TestForgedRevisions: a ControllerRevision that somebody wrote while the webhooks were off is no revision
// of a Component by its label alone. If it names the Component as its controller, it has no author.
func TestForgedRevisions(t *testing.T) {
	first := operator.Start(t, testKinds)
	define(t)
	w := newWorld(t)
	w.write(bare("db", 1))
	w.get("Component", "db", field("db-v1", "status", "latestRevision", "name"))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	w.Delete(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kinship-oam"}})
	w.write(revision("db-v99", 99, "labels: {controller.oam.dev/component: db}"))
	w.write(revision("db-v7", 7, fmt.Sprintf(`labels: {controller.oam.dev/component: db}
  ownerReferences: [{apiVersion: core.oam.dev/v1alpha2, kind: Component, name: db, uid: %s, controller: true}]`,
		w.get("Component", "db", nil).GetUID())))
	operator.Start(t, testKinds)
	w.write(application("labelled", "revisionName: db-v99"))
	w.write(application("owned", "revisionName: db-v7"))
	w.get("ApplicationConfiguration", "labelled", synced("ControllerRevision/db-v99 does not belong to Component/db"))
	w.get("ApplicationConfiguration", "owned", synced("no author is on record"))
	w.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
	w.get("Component", "db", field("db-v8", "status", "latestRevision", "name"))
	w.missing("Bar", "db")
}

// testTakenRevision: a Component whose next revision has the name of another object says so, and goes on
// when the other object is gone.
func testTakenRevision(t *testing.T) {
	w := newWorld(t)
	w.write(revision("db-v1", 1, "labels: {}"))
	w.write(bare("db", 1))
	w.get("Component", "db", synced("ControllerRevision/db-v1 exists, and is no revision of Component/db: delete it"))
	w.Delete(w.blank("ControllerRevision", "db-v1"))
	w.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
	w.get("Component", "db", field("db-v1", "status", "latestRevision", "name"))
	w.get("Component", "db", synced(""))
}
