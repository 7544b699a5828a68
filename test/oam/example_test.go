package oam_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinship-dev/kinship/examples/oam"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// controllers runs the controllers of the examples in a namespace, as their authors would.
func (w *world) controllers() {
	w.T.Helper()
	mgr, err := ctrl.NewManager(testenv.Config(w.T), ctrl.Options{
		Scheme: w.C.Scheme(), Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.NS: {}}},
	})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, add := range []func(ctrl.Manager) error{oam.AddMydb, oam.AddBanner} {
		if err := add(mgr); err != nil {
			w.T.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(w.T.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.T.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.T.Errorf("the controllers ended with %v", err)
		}
	})
}

// testSeed is the application of seed 5: a scaler and a banner act on a workload that they do not know,
// a scope has the workload, and a trait that takes no part in the mechanism stays as it is.
func testSeed(t *testing.T) {
	w := newWorld(t)
	w.controllers()
	testenv.ApplyFile(t, "../../examples/oam/database.yaml", testenv.In(w.NS))
	ref := map[string]any{"apiVersion": "standard.oam.dev/v1alpha2", "kind": "Mydb", "name": "mydb-example"}
	scaler := w.get("ManualScalerTrait", "example-appconfig-trait", synced(""))
	banner := w.get("BannerTrait", "example-banner", synced(""))
	for path, u := range map[string]*unstructured.Unstructured{"workloadRef": scaler, "workload": banner} {
		got, _, _ := unstructured.NestedMap(u.Object, "spec", path)
		if diff := cmp.Diff(ref, got); diff != "" {
			t.Errorf("reference of %s (-want +got):\n%s", u.GetKind(), diff)
		}
	}
	w.get("Deployment", "mydb-example", field(3, "spec", "replicas"))
	for _, kind := range []string{"Deployment", "Service"} {
		w.get(kind, "mydb-example", field("made by oam", "metadata", "annotations", "example.com/banner"))
	}
	backup := w.get("EtcdBackup", "example-etcd-cluster-backup", nil)
	want := map[string]any{
		"etcdEndpoints": []any{"http://example:2379"}, "storageType": "S3",
		"s3": map[string]any{"path": "bucket/backup", "awsSecret": "aws"},
	}
	if diff := cmp.Diff(want, backup.Object["spec"]); diff != "" {
		t.Errorf("the trait that takes no part (-want +got):\n%s", diff)
	}
	w.get("HealthScope", "example-health-scope",
		field("[map[apiVersion:standard.oam.dev/v1alpha2 kind:Mydb name:mydb-example]]", "spec", "workloadRefs"))
	w.get("HealthScope", "example-health-scope", field("HEALTHY", "status", "scopeHealthCondition", "healthStatus"))
	w.get("ApplicationConfiguration", "example-appconfig", synced(""))
}
