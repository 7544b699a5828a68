package seed3

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/examples"
	"github.com/kinship-dev/kinship/internal/story"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const (
	usedByChart   = "The resource is used by 1 resource(s): Release/my-prometheus-chart (Usage release-uses-cluster)."
	usedByRelease = "The resource is used by 1 resource(s): Release/my-release (Usage release-uses-cluster)."
)

// TestReleaseUsesCluster is the seed's first example: "The deletion of the
// Cluster resource will be rejected as long as this Release resource exists."
func TestReleaseUsesCluster(t *testing.T) {
	w := newWorld(t)
	cluster, chart, _, _ := w.stage()
	usage := w.read("named")[0]
	w.apply(usage)
	w.ready(usage)
	w.refused(cluster, usedByChart)
	w.delete(chart)
	w.gone(chart, usage)
	w.delete(cluster)
	w.gone(cluster)
}

// TestReleaseUsesClusterSelectors is the second example: a Release and a Cluster "created by
// the same composition instance". Objects of another instance match by label and are older, and
// are not chosen.
func TestReleaseUsesClusterSelectors(t *testing.T) {
	w := newWorld(t)
	cluster, _, release, _ := w.stage()
	foreign := blank(cluster)
	foreign.SetName("a-cluster-of-another-composition")
	foreign.SetLabels(cluster.GetLabels())
	w.apply(foreign)
	usage := w.read("selectors")[0]
	w.compose("my-platform", cluster, release, usage)
	w.apply(cluster, release, usage)
	w.ready(usage)

	spec := w.usage(usage).Spec
	want := []string{"my-cluster", "my-release"}
	if diff := cmp.Diff(want, []string{spec.Of.ResourceRef.Name, spec.By.ResourceRef.Name}); diff != "" {
		t.Errorf("resolved to (-want +got):\n%s", diff)
	}
	w.refused(cluster, usedByRelease)
	if w.locked(foreign) {
		t.Error("a cluster of another composition is locked")
	}
	w.delete(foreign)
	w.delete(release)
	// The composite owns the Usage as well, so the Usage is kept, and protects nothing.
	testenv.Eventually(t, func() error { return w.client.Delete(t.Context(), blank(cluster)) })
}

// TestReleaseUsesClusterSelectorsAlone applies the second example by hand: there is no
// composition, so no object has the same controller.
func TestReleaseUsesClusterSelectorsAlone(t *testing.T) {
	w := newWorld(t)
	cluster, _, _, _ := w.stage()
	usage := w.read("selectors")[0]
	w.apply(usage)
	testenv.Eventually(t, func() error {
		ready, err := conditionOf(w.get(usage), "Ready")
		if err != nil {
			return err
		}
		if ready.Status != metav1.ConditionFalse || ready.Reason != sharedv1alpha1.ReasonSelectorUnmatched {
			return fmt.Errorf("Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
		}
		return nil
	})
	w.delete(cluster)
}

// TestProductionDatabase is the third example: "prevent the deletion of a database instance"
// without a user.
func TestProductionDatabase(t *testing.T) {
	w := newWorld(t)
	_, _, _, database := w.stage()
	usage := w.read("protection")[0]
	w.apply(usage)
	w.ready(usage)
	w.refused(database,
		`The resource is protected: "Production Database - should never be deleted" (Usage production-database).`)
	w.delete(usage)
	w.gone(usage)
	w.delete(database)
}

// TestReasonIsRequiredWithoutBy is the comment in the first example: reason "is
// required when the Usage is meant to be used for Protection purposes".
func TestReasonIsRequiredWithoutBy(t *testing.T) {
	w := newWorld(t)
	usage := w.read("protection")[0]
	unstructured.RemoveNestedField(usage.Object, "spec", "reason")
	err := w.client.Create(t.Context(), usage)
	if err == nil || !strings.Contains(err.Error(), `either "spec.by" or "spec.reason" must be specified.`) {
		t.Errorf("a Usage with neither by nor reason was answered with %v", err)
	}
}

// TestReleaseUsesClusters is the example of "Resolving selectors": the operator changes one
// manifest into the other.
func TestReleaseUsesClusters(t *testing.T) {
	w := newWorld(t)
	cluster, _, _, _ := w.stage()
	usage, want := w.read("resolving")[0], w.read("resolved")[0]
	w.compose("my-platform", cluster, usage)
	w.apply(cluster, usage)
	w.ready(usage)
	if diff := cmp.Diff(want.Object["spec"], w.get(usage).Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// TestReleaseUsesClustersOldestFirst is "if multiple resources match the selector, a random one
// will be selected": here the oldest. The choice is made "once when the Usage is created", so
// an older object that matches later changes nothing.
func TestReleaseUsesClustersOldestFirst(t *testing.T) {
	w := newWorld(t)
	w.apply(w.read("objects")[1])
	older, oldest := w.read("objects")[0], w.read("objects")[0]
	oldest.SetName("z-first")
	w.compose("my-platform", oldest)
	w.apply(oldest)
	w.youngerThan(oldest)
	w.compose("my-platform", older)
	w.apply(older)

	usage := w.read("resolving")[0]
	w.compose("my-platform", usage)
	w.apply(usage)
	w.ready(usage)
	if got := w.usage(usage).Spec.Of.ResourceRef.Name; got != "z-first" {
		t.Errorf("%s was chosen, want the oldest", got)
	}
	if w.locked(older) {
		t.Error("one that was not chosen is locked")
	}
	w.patch(oldest, `{"metadata":{"labels":{"foo":null}}}`)
	w.patch(usage, `{"metadata":{"annotations":{"look":"again"}}}`)
	w.refused(oldest, "The resource is used by 1 resource(s): Release/my-prometheus-chart (Usage release-uses-clusters).")
}

// TestReleaseUsesClustersResolved applies the manifest after resolving.
func TestReleaseUsesClustersResolved(t *testing.T) {
	w := newWorld(t)
	cluster, _, _, _ := w.stage()
	usage := w.read("resolved")[0]
	w.apply(usage)
	w.ready(usage)
	w.refused(cluster, "The resource is used by 1 resource(s): Release/my-prometheus-chart (Usage release-uses-clusters).")
}

// TestEveryFile applies every file of examples/usage, and waits until the Usages in the file
// work, if the file or objects.yaml has their objects.
func TestEveryFile(t *testing.T) {
	waiting := map[string]string{
		"selectors.yaml": "it has no controller when it is applied by hand",
		"resolving.yaml": "it has no controller when it is applied by hand",
	}
	files, err := fs.Glob(examples.Usage, "usage/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	operator.Start(t)
	for _, file := range files {
		t.Run(path.Base(file), func(t *testing.T) {
			w := joinWorld(t)
			w.stage()
			objects := w.read(strings.TrimSuffix(path.Base(file), ".yaml"))
			if path.Base(file) == "definitions.yaml" {
				return // Applied before the control plane's controllers started.
			}
			if path.Base(file) == "composition.yaml" {
				w.apply(objects[0])
				story.Compose(objects[0], objects[1:]...)
			}
			w.apply(objects...)
			for _, o := range objects {
				if strings.HasSuffix(o.GetKind(), "Usage") && waiting[path.Base(file)] == "" {
					w.ready(o)
				}
			}
		})
	}
}

// compose plays the controller of a composite that renders objects.
func (w *world) compose(name string, objects ...object) {
	w.Helper()
	composite := w.read("composition")[0]
	composite.SetName(name)
	w.apply(composite)
	for _, o := range objects {
		// Fields of an answer that describe the past must not be in a request.
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
	}
	story.Compose(composite, objects...)
}

// youngerThan waits until new objects get a later creationTimestamp, which has whole seconds.
func (w *world) youngerThan(o object) {
	w.Helper()
	testenv.Eventually(w, func() error {
		probe := blank(o)
		probe.SetName("probe-of-time")
		if err := w.client.Create(w.Context(), probe); err != nil {
			return err
		}
		w.delete(probe)
		if !probe.GetCreationTimestamp().After(o.GetCreationTimestamp().Time) {
			return fmt.Errorf("it is still the second of %s", o.GetCreationTimestamp())
		}
		return nil
	})
}
