package iot_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestPolicy: without webhooks the API server asks for the author's rights itself.
func TestPolicy(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Enforcement = pack.ByPolicy })
	w := newWorld(t)
	group := iotv1alpha1.GroupVersion.Group
	poor := w.User("poor", may("create", group, "iotconnectors", "iotconnectors/status"))
	rich := w.User("rich", may("create", group, "iotconnectors"), may("create", "apps", "deployments"))
	identified := w.User("identified", may("create", group, "iotconnectors"), may("create", "apps", "deployments"),
		may("create", "", "serviceaccounts"))
	c := w.version1("c", entry("a", "Normalization"))
	testenv.Eventually(t, func() error { // A policy takes effect a moment after its creation.
		err := poor.Create(t.Context(), c.DeepCopy(), client.DryRunAll)
		if err == nil || !apierrors.IsForbidden(err) {
			return errors.Join(errors.New("it is not refused for want of a right"), err)
		}
		return nil
	})
	refused(t, poor.Create(t.Context(), c.DeepCopy()), "must be allowed to create Deployments")
	refused(t, rich.Create(t.Context(), c.DeepCopy()), "must be allowed to create the identity of its Pods")
	if err := identified.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.ready(c)
	refused(t, w.C.Status().Update(t.Context(), c.DeepCopy()), "only Kinship may write it")
	give := func(c *iotv1alpha1.IotConnector) {
		c.Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "aaaa", ResourceID: "bbbb"}
	}
	refused(t, try(w, rich, c, give), "must be allowed to create the identity of its Pods")
	change(w, c, give)
	if err := try(w, rich, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Containers[0].Image = "other" }); err != nil {
		t.Error(err)
	}
	w.ready(c)
	if err := try(w, poor, c, func(c *iotv1alpha1.IotConnector) { c.Labels["x"] = "y" }); err != nil {
		t.Error(err)
	}
	// The controller refuses specs that a policy can't check.
	version1 := *c.Spec.DeepCopy()
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec = w.version0("c").Spec })
	message := w.until(c, "Stalled", metav1.ConditionTrue, "Invalid")
	if !strings.Contains(message, "version 1 can't go down to 0: no previous spec is on record") {
		t.Errorf("message %q", message)
	}
	w.consists(c, "a")
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec = version1 })
	w.ready(c)
	w.Delete(c)
	w.Gone(c)
	for typed, text := range map[client.Object]string{
		&iotv1alpha1.IotConnector{}: manyFields, &iotv1alpha1.IotConnectorRelease{}: release,
	} {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		obj.SetNamespace(w.NS)
		testenv.CheckReadable(t, obj, func() client.Object { return typed })
	}
}

// All fields of imported types that Go decodes to another text than the original.
const (
	manyFields = `
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnector
spec:
  version: 1
  serviceIdentity: {clientID: a, resourceID: a}
  deployments:
  - name: a
    type: A
    replicas: 1
    resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 100m}}
    containers:
    - type: A
      image: i
      environmentVariables: [{name: A, value: a}]
      imagePullSecrets: [a]
      resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 100m}}
      readinessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1, terminationGracePeriodSeconds: 1}
      livenessProbe: {tcpSocket: {port: http}, initialDelaySeconds: 1}
      startupProbe: {grpc: {port: 80, service: a}, failureThreshold: 1}
      securityContext: {runAsUser: 1, runAsGroup: 1, runAsNonRoot: true, procMount: Default}
`
	release = `
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnectorRelease
spec:
  version: 1
  selector: {matchLabels: {a: b}}
  images: {A: i}
  strategy: {maxUnavailable: 1, maxFailures: 1, paused: true}
`
)

// TestPodIdentity is "a single Azure Identity Binding can be created", and "can make
// use of the binding via match selectors".
func TestPodIdentity(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Iot.Identity = iot.PodIdentity })
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	c.Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "aaaa", ResourceID: "bbbb"}
	w.Create(c)
	w.ready(c)
	for kind, want := range map[string]map[string]any{
		"AzureIdentity":        {"type": int64(0), "clientID": "aaaa", "resourceID": "bbbb"},
		"AzureIdentityBinding": {"azureIdentity": "c", "selector": "c"},
	} {
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion("aadpodidentity.k8s.io/v1")
		obj.SetKind(kind)
		if err := w.C.Get(t.Context(), client.ObjectKey{Namespace: w.NS, Name: "c"}, obj); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if got := obj.Object["spec"].(map[string]any)[key]; got != value {
				t.Errorf("%s: spec.%s is %v, want %v", kind, key, got, value)
			}
		}
	}
	for _, name := range []string{"a", "b"} {
		if got := w.deployment(name).Spec.Template.Labels["aadpodidbinding"]; got != "c" {
			t.Errorf("Pods of %s select binding %q", name, got)
		}
	}
	w.Delete(c)
	w.Gone(c)
}
