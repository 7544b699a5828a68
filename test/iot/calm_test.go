package iot_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// testCalm watches an IotConnector of each version from its creation, through a change of each field of its spec, to its
// end. While nothing is wrong, Ready is False once for each change, until the Pods have rolled, and Stalled never appears.
func testCalm(t *testing.T) {
	memory := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	contained := []func(*iotv1alpha1.Container){
		func(c *iotv1alpha1.Container) { c.Image = "example.com/another:2" },
		func(c *iotv1alpha1.Container) {
			c.EnvironmentVariables = []iotv1alpha1.EnvironmentVariable{{Name: "A", Value: "1"}}
		},
		func(c *iotv1alpha1.Container) { c.EnvironmentVariables[0].Value = "2" },
		func(c *iotv1alpha1.Container) { c.ImagePullSecrets = []string{"registry"} },
		func(c *iotv1alpha1.Container) { c.Resources = &memory },
		func(c *iotv1alpha1.Container) { c.StartupProbe = probe },
		func(c *iotv1alpha1.Container) {
			c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true)}
		},
		func(c *iotv1alpha1.Container) { *c = container(c.Type) },
	}
	var version0, version1 []func(*iotv1alpha1.IotConnector)
	for _, change := range contained {
		version0 = append(version0, func(c *iotv1alpha1.IotConnector) { change(&c.Spec.Containers[0]) })
		version1 = append(version1, func(c *iotv1alpha1.IotConnector) { change(&c.Spec.Deployments[0].Containers[0]) })
	}
	version1 = append(version1,
		func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Replicas = new(int32(3)) },
		func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Replicas = new(int32(1)) },
		func(c *iotv1alpha1.IotConnector) {
			c.Spec.Deployments = append(c.Spec.Deployments, entry("second", "FhirTransformation"))
		},
		func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments = c.Spec.Deployments[:1] },
	)
	for name, changes := range map[string][]func(*iotv1alpha1.IotConnector){"version0": version0, "version1": version1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.version0(name)
			if name == "version1" {
				c = w.version1(name, entry("first", "Normalization"))
			}
			watched := testenv.WatchVersions(t, w.C, iotv1alpha1.GroupVersion.WithKind("IotConnector"), w.NS, name)
			w.Create(c)
			w.ready(c)
			for _, f := range changes {
				change(w, c, f)
				w.ready(c)
			}
			w.Delete(c)
			versions := watched.UntilDeleted()
			for _, text := range testenv.RelapsesOfGeneration(versions, "Ready") {
				t.Error(text)
			}
			for _, v := range versions {
				var u iotv1alpha1.IotConnector
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v.Object, &u); err != nil {
					t.Fatal(err)
				}
				if c := meta.FindStatusCondition(u.Status.Conditions, "Stalled"); c != nil {
					t.Errorf("Stalled is %+v", c)
				}
			}
			for generation, n := range testenv.Writes(versions) {
				if n > 5 { // The change of the spec, the begin, the end, and one for each of two Deployments.
					t.Errorf("%d versions of generation %d", n, generation)
				}
			}
		})
	}
}
