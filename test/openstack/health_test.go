package openstack_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	// Argo CD runs health checks with this interpreter, so the result for a script is the same
	// as in Argo CD.
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/test/gitops"
)

// phase is an object in one phase of its life, with the expected results of health checks.
type phase struct {
	name string
	// pass is the Outcome of the operator; nil before its first pass.
	pass *condition.Pass
	// behind and deleting say that the spec was edited since, or the object deleted.
	behind, deleting bool

	health  status.Status // the result of kstatus, if it evaluated these conditions
	kstatus status.Status // the real result of kstatus
}

const network = "{apiVersion: openstack.k-orc.cloud/v1alpha1, kind: Network, metadata: {name: net, generation: 3}}"

var phases = []phase{
	{name: "not looked at", health: status.InProgressStatus, kstatus: status.CurrentStatus},
	{
		name: "waits", health: status.InProgressStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{Outcome: reconcile.Wait(condition.ReasonProgressing, "Waiting for Secret/cloud to be created")},
	},
	{
		name: "is made", health: status.InProgressStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{
			Outcome: reconcile.Progress(condition.ReasonProgressing, "Resource status will be refreshed"),
			Sight:   condition.Lacking, Exists: true,
		},
	},
	{
		name: "available", health: status.CurrentStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{Sight: condition.Serving, Exists: true},
	},
	{
		name: "edited", health: status.InProgressStatus, kstatus: status.CurrentStatus, behind: true,
		pass: &condition.Pass{Sight: condition.Serving, Exists: true},
	},
	{
		name: "refused, then edited", health: status.InProgressStatus, kstatus: status.CurrentStatus, behind: true,
		pass: &condition.Pass{Outcome: reconcile.Refuse(condition.ReasonInvalidConfiguration, "no such flavor")},
	},
	{
		name: "available, with an update that fails", health: status.InProgressStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{
			Outcome: reconcile.Fail(condition.ReasonTransientError, errors.New("503")), Sight: condition.Serving, Exists: true,
		},
	},
	{
		name: "can't be read", health: status.InProgressStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{Outcome: reconcile.Fail(condition.ReasonTransientError, errors.New("503")), Exists: true},
	},
	{
		name: "available, with an update that is refused", health: status.FailedStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{
			Outcome: reconcile.Refuse(condition.ReasonInvalidConfiguration, "no such flavor"),
			Sight:   condition.Serving, Exists: true,
		},
	},
	{
		name: "refused", health: status.FailedStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{Outcome: reconcile.Refuse(condition.ReasonInvalidConfiguration, "no such flavor")},
	},
	{
		name: "lost", health: status.FailedStatus, kstatus: status.CurrentStatus,
		pass: &condition.Pass{
			Outcome: reconcile.Refuse(condition.ReasonUnrecoverableError, "resource has been deleted from OpenStack"),
			Exists:  true,
		},
	},
	{
		name: "available, deleted", health: status.InProgressStatus, kstatus: status.TerminatingStatus, deleting: true,
		pass: &condition.Pass{Sight: condition.Serving, Exists: true},
	},
	{
		name: "deleted, waits", health: status.InProgressStatus, kstatus: status.TerminatingStatus, deleting: true,
		pass: &condition.Pass{
			Outcome: reconcile.Wait(condition.ReasonProgressing, "Waiting for Subnet/sub to be deleted"), Deleting: true,
		},
	},
}

// object returns the object as the operator writes it.
func (p *phase) object(t *testing.T) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(network), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetGeneration(3)
	if p.deleting {
		now := metav1.Now()
		u.SetDeletionTimestamp(&now)
	}
	if p.pass == nil {
		return u.Object
	}
	pass := *p.pass
	pass.Generation = 3
	if p.behind {
		pass.Generation = 2
	}
	var written struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	condition.External{Noun: "OpenStack resource"}.Set(&written.Conditions, pass)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&written)
	if err != nil {
		t.Fatal(err)
	}
	u.Object["status"] = content
	return u.Object
}

// example reads the YAML below a heading of the page.
func example(t *testing.T, heading string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n### "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n### ")
	_, block, opened := strings.Cut(section, "```yaml\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !opened || !closed {
		t.Fatalf("%s has no example for %s", page, heading)
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict([]byte(block), &content); err != nil {
		t.Fatalf("example for %s: %v", heading, err)
	}
	return content
}

// fieldsOf returns fields of an example that are texts, in their order.
func fieldsOf(t *testing.T, content map[string]any, path []string, names ...string) []string {
	t.Helper()
	object, found, err := unstructured.NestedMap(content, path...)
	if err != nil || !found {
		t.Fatalf("no %v: %v", path, err)
	}
	var all []string
	for _, name := range names {
		text, _ := object[name].(string)
		if text == "" {
			t.Fatalf("no %v.%s", path, name)
		}
		all = append(all, text)
	}
	return all
}

// first returns the first object of a list, in an object of its own, as "it".
func first(t *testing.T, content map[string]any, path ...string) map[string]any {
	t.Helper()
	list, _, err := unstructured.NestedSlice(content, path...)
	if err != nil || len(list) == 0 {
		t.Fatalf("no %v: %v", path, err)
	}
	return map[string]any{"it": list[0]}
}

// TestHealthChecks reads the health checks from the page, and evaluates them for an object in
// each phase.
func TestHealthChecks(t *testing.T) {
	flux := fieldsOf(t, first(t, example(t, "Flux"), "spec", "healthCheckExprs"), []string{"it"},
		"inProgress", "failed", "current")
	argo := argoScript(t)
	kro, _, err := unstructured.NestedStringSlice(first(t, example(t, "kro"), "resources"), "it", "readyWhen")
	if err != nil || len(kro) == 0 {
		t.Fatal(err)
	}
	crossplane := fieldsOf(t, example(t, "Crossplane"), []string{"spec", "readiness"}, "celQuery")[0]
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			object := p.object(t)
			p.checkFlux(t, flux, object)
			p.checkArgo(t, argo, object)
			p.checkKstatus(t, object)
			if p.deleting { // Neither tool checks objects that it deletes.
				return
			}
			ready := true
			for _, expression := range kro {
				expression = strings.TrimSuffix(strings.TrimPrefix(expression, "${"), "}")
				is, err := gitops.Flux(t, expression, map[string]any{"network": object})
				ready = ready && is && err == nil
			}
			if want := p.health == status.CurrentStatus; ready != want {
				t.Errorf("kro: ready is %t, want %t", ready, want)
			}
			if is, err := gitops.Flux(t, crossplane, map[string]any{"object": object}); is != (p.health == status.CurrentStatus) {
				t.Errorf("Crossplane: ready is %t: %v", is, err)
			}
		})
	}
}

// checkFlux evaluates in the order of Flux, which takes any other object for in progress.
func (p *phase) checkFlux(t *testing.T, expressions []string, object map[string]any) {
	t.Helper()
	got := status.InProgressStatus
	for i, verdict := range []status.Status{status.InProgressStatus, status.FailedStatus, status.CurrentStatus} {
		is, err := gitops.Flux(t, expressions[i], object)
		if err != nil && p.pass != nil {
			t.Errorf("Flux: %v", err)
		}
		if is {
			got = verdict
			break
		}
	}
	if got != p.health {
		t.Errorf("Flux: %s, want %s", got, p.health)
	}
}

func (p *phase) checkKstatus(t *testing.T, object map[string]any) {
	t.Helper()
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil || result.Status != p.kstatus {
		t.Errorf("kstatus: %v, want %s; error %v", result, p.kstatus, err)
	}
}

// argoScript returns the script of the page's ConfigMap.
func argoScript(t *testing.T) string {
	t.Helper()
	text := fieldsOf(t, example(t, "Argo CD"), []string{"data"}, "resource.customizations")[0]
	var customizations map[string]map[string]string
	if err := yaml.UnmarshalStrict([]byte(text), &customizations); err != nil {
		t.Fatal(err)
	}
	script := customizations[group+"/*"]["health.lua"]
	if script == "" {
		t.Fatalf("no script: %v", customizations)
	}
	return script
}

func (p *phase) checkArgo(t *testing.T, script string, object map[string]any) {
	t.Helper()
	if p.deleting {
		return // Argo CD does not ask then.
	}
	got, message := gitops.ArgoCD(t, script, object)
	want := map[status.Status]string{
		status.InProgressStatus: "Progressing", status.CurrentStatus: "Healthy", status.FailedStatus: "Degraded",
	}[p.health]
	if got != want {
		t.Errorf("Argo CD: %s, want %s", got, want)
	}
	if message == "" {
		t.Error("Argo CD: no message")
	}
}
