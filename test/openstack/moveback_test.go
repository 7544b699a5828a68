package openstack_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestMoveBack stops this operator, puts the published definitions in the place of ours,
// and has the published operator's hand go on.
func TestMoveBack(t *testing.T) {
	first := operator.Start(t, only)
	var worlds []*world
	for _, objects := range movedStacks() {
		cloud := operator.Cloud(t, emulator.Options{})
		w := worldOf(t, cloud.CloudsYAML(), cloud)
		w.applyHere(objects)
		worlds = append(worlds, w)
	}
	for _, w := range worlds {
		w.allAvailable()
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	var statuses []map[string]map[string]any
	for _, w := range worlds {
		statuses = append(statuses, w.leftAsPublished())
	}
	for i, w := range worlds {
		w.keptByUs(statuses[i])
	}
	renewAll(t)
	redefine(t, worlds, asTheirs)
	for i, w := range worlds {
		w.reportedAs(statuses[i])
	}
	redefine(t, worlds, ourDefinition)
	for _, w := range worlds {
		w.deletedAs()
	}
}

// leftAsPublished expects that objects have only fields of the published operator, and the
// fields that the page names. It returns the report of that operator for each object.
func (w *world) leftAsPublished() map[string]map[string]any {
	w.t.Helper()
	reports := map[string]map[string]any{}
	finalizers := []string{group + "/trunk-subport"}
	for _, k := range publishedKinds {
		finalizers = append(finalizers, k.finalizer())
	}
	for _, u := range append(w.objects(), w.get("Secret", "cloud")) {
		name := u.GetKind() + "/" + u.GetName()
		for _, f := range u.GetFinalizers() {
			if !slices.Contains(finalizers, f) {
				w.t.Errorf("%s has finalizer %s", name, f)
			}
		}
		for annotation := range u.GetAnnotations() {
			if annotation != group+"/creation-intent" {
				w.t.Errorf("%s has annotation %s", name, annotation)
			}
		}
		w.checkWriters(u)
		if u.GetKind() == "Secret" {
			continue
		}
		var types []string
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			condition := c.(map[string]any)
			types = append(types, condition["type"].(string))
			if condition["observedGeneration"] != u.GetGeneration() {
				w.t.Errorf("%s: %s is of another generation", name, condition["type"])
			}
		}
		want := []string{"Available", "Progressing"}
		if u.GetKind() == "Image" && len(types) > 2 {
			want = append([]string{"Downloading"}, want...)
		}
		if diff := cmp.Diff(want, types); diff != "" {
			w.t.Errorf("conditions of %s (-published +ours):\n%s", name, diff)
		}
		reports[name] = w.theirReport(u)
	}
	return reports
}

// checkWriters expects that every finalizer was applied by its published field owner, and
// the status written by that of its kind.
func (w *world) checkWriters(u *unstructured.Unstructured) {
	w.t.Helper()
	want := map[string]bool{}
	for _, f := range u.GetFinalizers() {
		owner := guardOwner(f)
		if f == group+"/"+strings.ToLower(u.GetKind()) {
			owner += "/finalizer"
		}
		want["Apply of  by "+owner] = true
	}
	if u.GetKind() != "Secret" {
		want["Update of status by "+controllerOf(u.GetKind())+"/status"] = true
	}
	got := map[string]bool{}
	for _, m := range u.GetManagedFields() {
		created := u.GetKind() == "RouterInterface" && m.Manager == controllerOf("Subnet") // By the Subnet's controller.
		if strings.HasPrefix(m.Manager, group) && !created {
			got[fmt.Sprintf("%s of %s by %s", m.Operation, m.Subresource, m.Manager)] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("writers of %s/%s (-published +ours):\n%s", u.GetKind(), u.GetName(), diff)
	}
}

// theirReport returns the published operator's report of an object.
func (w *world) theirReport(u *unstructured.Unstructured) map[string]any {
	w.t.Helper()
	report := map[string]any{}
	for field, value := range w.statusOf(u) {
		if slices.Contains(theirStatus, field) {
			report[field] = value
		}
	}
	if resource, has := report["resource"].(map[string]any); has && u.GetKind() == "Volume" {
		delete(resource, "projectID")
	}
	return report
}

// keptByUs shows why the page removes statuses: fields that the published operator no longer
// reports stay, because the field owner of this operator owns them as well.
func (w *world) keptByUs(reports map[string]map[string]any) {
	w.t.Helper()
	for _, u := range w.objects() {
		if u.GetKind() != "Network" {
			continue
		}
		report := reports["Network/"+u.GetName()]
		less := maps.Clone(report)
		delete(less, "resource")
		if err := errors.Join(w.applyStatusAs(u, report), w.applyStatusAs(u, less)); err != nil {
			w.t.Fatal(err)
		}
		if w.statusOf(u)["resource"] == nil {
			w.t.Errorf("status.resource of %s is not kept", u.GetName())
		}
	}
}

// renewAll runs the script with which the page removes every field of each status except the id.
func renewAll(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, script, found := strings.Cut(string(text), "Remove every field of each status except the id")
	_, script, _ = strings.Cut(script, "```sh")
	_, script, opened := strings.Cut(script, "\n") // The line also says why no test of the page runs the script.
	script, _, closed := strings.Cut(script, "```")
	if !found || !opened || !closed {
		t.Fatalf("%s has no script that writes statuses anew", page)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+testenv.Kubeconfig(t),
		"PATH="+testenv.Cluster(t).BinDir()+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// reportedAs reports every object as the published operator does, and then, as after an error,
// without its resource.
func (w *world) reportedAs(reports map[string]map[string]any) {
	w.t.Helper()
	for _, u := range w.objects() {
		left := map[string]any{}
		report := reports[u.GetKind()+"/"+u.GetName()]
		for _, field := range []string{"id", "downloadAttempts"} {
			if value, has := report[field]; has {
				left[field] = value
			}
		}
		w.expectStatus(u, left)
		if err := w.applyStatusAs(u, report); err != nil {
			w.t.Fatal(err)
		}
		w.expectStatus(u, report)
		less := maps.Clone(report)
		delete(less, "resource")
		if err := w.applyStatusAs(u, less); err != nil {
			w.t.Error(err)
		}
		w.expectStatus(u, less)
	}
}

func (w *world) statusOf(u *unstructured.Unstructured) map[string]any {
	w.t.Helper()
	status, _, err := unstructured.NestedMap(w.get(u.GetKind(), u.GetName()).Object, "status")
	if err != nil {
		w.t.Fatal(err)
	}
	return status
}

func (w *world) expectStatus(u *unstructured.Unstructured, expected map[string]any) {
	w.t.Helper()
	if diff := cmp.Diff(expected, w.statusOf(u)); diff != "" {
		w.t.Errorf("status of %s/%s (-want +got):\n%s", u.GetKind(), u.GetName(), diff)
	}
}

// deletedAs deletes every object as the published operator does: it removes a finalizer by an
// empty apply as the field manager of the finalizer.
func (w *world) deletedAs() {
	w.t.Helper()
	all := append(w.objects(), w.get("Secret", "cloud"))
	for _, u := range all {
		w.delete(u.GetKind(), u.GetName())
		own := group + "/" + strings.ToLower(u.GetKind())
		for _, f := range u.GetFinalizers() {
			owner := guardOwner(f)
			if f == own {
				owner += "/finalizer"
			}
			w.releaseAs(u, owner)
		}
	}
	for _, u := range all {
		w.gone(u.GetKind(), u.GetName())
	}
}

// releaseAs removes the fields of a field manager from an object, which may not exist any more.
func (w *world) releaseAs(u *unstructured.Unstructured, owner string) {
	w.t.Helper()
	err := w.c.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(partial(u)),
		client.FieldOwner(owner), client.ForceOwnership)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		w.t.Error(err)
	}
}
