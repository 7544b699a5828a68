package oam_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/oam"
)

var mydb = oamv1alpha2.TypedReference{APIVersion: "standard.oam.dev/v1alpha2", Kind: "Mydb", Name: "db"}

const objects = `
apiVersion: standard.oam.dev/v1alpha2
kind: Mydb
metadata: {name: db}
---
apiVersion: v1
kind: Service
metadata: {name: front, labels: {tier: front}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: back}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: foreign, labels: {tier: front}}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: undeclared}`

// world is a namespace with a workload that controls all objects but the Service foreign.
func world(t *testing.T) (client.Client, string) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, oamv1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, namespace := testenv.Client(t, scheme), testenv.Namespace(t)
	made := testenv.Apply(t, objects, testenv.In(namespace))
	for _, obj := range made[1:] {
		if obj.GetName() == "foreign" {
			continue
		}
		obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(made[0], made[0].GroupVersionKind())})
		if err := c.Update(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return c, namespace
}

// define creates a WorkloadDefinition for the time of a test.
func define(t *testing.T, c client.Client, children ...oamv1alpha2.ChildResourceKind) {
	t.Helper()
	definition := &oamv1alpha2.WorkloadDefinition{ObjectMeta: metav1.ObjectMeta{Name: "mydbs.standard.oam.dev"}}
	definition.Spec.Reference.Name = definition.Name
	definition.Spec.ChildResourceKinds = children
	if err := c.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), definition); err != nil {
			t.Error(err)
		}
	})
}

// TestChildren finds the children of a workload by its definition.
func TestChildren(t *testing.T) {
	c, namespace := world(t)
	service := oamv1alpha2.ChildResourceKind{APIVersion: "v1", Kind: "Service"}
	front := service
	front.Selector = map[string]string{"tier": "front"}
	children := func(t *testing.T) []string {
		t.Helper()
		found, err := oam.Children(t.Context(), c, namespace, mydb)
		if err != nil {
			t.Fatal(err)
		}
		names := make([]string, 0, len(found))
		for _, child := range found {
			names = append(names, child.GetKind()+"/"+child.GetName())
		}
		return names
	}
	for _, step := range []struct {
		name    string
		defined bool
		kinds   []oamv1alpha2.ChildResourceKind
		want    []string
	}{
		{"without a definition the workload stands for itself", false, nil, []string{"Mydb/db"}},
		{"a definition without kinds", true, nil, []string{"Mydb/db"}},
		{
			"what the workload controls", true,
			[]oamv1alpha2.ChildResourceKind{service},
			[]string{"Service/back", "Service/front"},
		},
		{"with the labels of the selector", true, []oamv1alpha2.ChildResourceKind{front}, []string{"Service/front"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.defined {
				define(t, c, step.kinds...)
			}
			if diff := cmp.Diff(step.want, children(t)); diff != "" {
				t.Errorf("children (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("exposed children alone", func(t *testing.T) {
		define(t, c, service)
		expose := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"core.oam.dev/expose":"true"}}}`))
		back := &unstructured.Unstructured{}
		back.SetAPIVersion("v1")
		back.SetKind("Service")
		back.SetNamespace(namespace)
		back.SetName("back")
		if err := c.Patch(t.Context(), back, expose); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Service/back"}, children(t)); diff != "" {
			t.Errorf("children (-want +got):\n%s", diff)
		}
	})
}

// TestNoWorkload: the errors name what is missing.
func TestNoWorkload(t *testing.T) {
	c, namespace := world(t)
	for field, ref := range map[string]oamv1alpha2.TypedReference{
		"apiVersion": {Kind: "Mydb", Name: "db"}, "kind": {APIVersion: mydb.APIVersion, Name: "db"},
		"name": {APIVersion: mydb.APIVersion, Kind: "Mydb"},
	} {
		_, err := oam.Children(t.Context(), c, namespace, ref)
		if err == nil || !strings.Contains(err.Error(), "has no "+field) {
			t.Errorf("a reference without %s: %v", field, err)
		}
	}
	missing := mydb
	missing.Name = "none"
	if _, err := oam.Children(t.Context(), c, namespace, missing); !apierrors.IsNotFound(err) {
		t.Errorf("a workload that does not exist: %v", err)
	}
}

// TestApplication: an object knows its application by the uid.
func TestApplication(t *testing.T) {
	c, namespace := world(t)
	ac := &oamv1alpha2.ApplicationConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
	ac.Spec.Components = []oamv1alpha2.ApplicationConfigurationComponent{{ComponentName: "web"}}
	if err := c.Create(t.Context(), ac); err != nil {
		t.Fatal(err)
	}
	trait := &oamv1alpha2.ManualScalerTrait{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "t"}}
	if found, err := oam.Application(t.Context(), c, trait); found != nil || err != nil {
		t.Errorf("without an owner: %v, %v", found, err)
	}
	owner := metav1.NewControllerRef(ac, oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindApplicationConfiguration))
	trait.OwnerReferences = []metav1.OwnerReference{*owner}
	if found, err := oam.Application(t.Context(), c, trait); err != nil || found.UID != ac.UID {
		t.Errorf("with an owner: %v, %v", found, err)
	}
	trait.OwnerReferences[0].UID = "another"
	_, err := oam.Application(t.Context(), c, trait)
	if err == nil || !strings.Contains(err.Error(), "another has its name") {
		t.Errorf("with a replaced owner: %v", err)
	}
}

// TestSetSynced changes a condition only if its status or its message changes.
func TestSetSynced(t *testing.T) {
	var status oamv1alpha2.ConditionedStatus
	if !oam.SetSynced(&status, "") || oam.SetSynced(&status, "") {
		t.Error("the first time it changes, and not again")
	}
	before := status.Conditions[0].LastTransitionTime
	if !oam.SetSynced(&status, "no workload") || status.Conditions[0].Status != metav1.ConditionFalse {
		t.Errorf("conditions %v", status.Conditions)
	}
	status.Conditions[0].LastTransitionTime = before
	if !oam.SetSynced(&status, strings.Repeat("x", 10_000)) || len(status.Conditions[0].Message) != 4096 {
		t.Errorf("a long message has %d bytes", len(status.Conditions[0].Message))
	}
	if !status.Conditions[0].LastTransitionTime.Equal(&before) {
		t.Error("another message is no transition")
	}
}
