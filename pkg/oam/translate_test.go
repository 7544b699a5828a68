package oam_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/oam"
)

// objectOf returns the one object of a Go type that a ContainerizedWorkload becomes.
func objectOf[T client.Object](t *testing.T, w *oamv1alpha2.ContainerizedWorkload) T {
	t.Helper()
	var found T
	n := 0
	for _, obj := range oam.Translate(w) {
		if typed, ok := obj.(T); ok {
			found = typed
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d objects of type %T", n, found)
	}
	return found
}

// TestProbes: each form of a probe becomes the same form of a Pod's probe, with its times.
func TestProbes(t *testing.T) {
	const times = "initialDelaySeconds: 1, periodSeconds: 2, timeoutSeconds: 3, successThreshold: 4, failureThreshold: 5"
	all := corev1.Probe{
		InitialDelaySeconds: 1, PeriodSeconds: 2, TimeoutSeconds: 3, SuccessThreshold: 4, FailureThreshold: 5,
	}
	for name, c := range map[string]struct {
		text string
		want corev1.ProbeHandler
	}{
		"a command": {"exec: {command: [a, b]}", corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"a", "b"}}}},
		"HTTP": {
			"httpGet: {path: /p, port: 80, httpHeaders: [{name: H, value: v}]}",
			corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: "/p", Port: intstr.FromInt32(80), HTTPHeaders: []corev1.HTTPHeader{{Name: "H", Value: "v"}},
			}},
		},
		"TCP": {
			"tcpSocket: {port: 81}", corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(81)}},
		},
		"nothing": {"", corev1.ProbeHandler{}},
	} {
		t.Run(name, func(t *testing.T) {
			probe := times
			if c.text != "" {
				probe += ", " + c.text
			}
			w := workload(t, "metadata: {name: w}\nspec: {containers: [{name: a, image: b, livenessProbe: {"+probe+"}}]}")
			got := objectOf[*appsv1.Deployment](t, w).Spec.Template.Spec.Containers[0]
			want := all
			want.ProbeHandler = c.want
			if diff := cmp.Diff(&want, got.LivenessProbe); diff != "" {
				t.Errorf("probe (-want +got):\n%s", diff)
			}
			if got.ReadinessProbe != nil {
				t.Errorf("the readiness probe is %v, and nobody asked for one", got.ReadinessProbe)
			}
		})
	}
}

// filesOf returns the contents of the ConfigMaps that a Pod mounts, by the name of the container and the
// path of the mount.
func filesOf(pod corev1.PodSpec, objects []client.Object) map[string]string {
	contents := map[string]map[string]string{} // By the name of the volume.
	for _, obj := range objects {
		cm, ok := obj.(*corev1.ConfigMap)
		for _, v := range pod.Volumes {
			if ok && v.ConfigMap != nil && v.ConfigMap.Name == cm.Name {
				contents[v.Name] = cm.Data
			}
		}
	}
	files := map[string]string{}
	for i := range pod.Containers {
		for _, m := range pod.Containers[i].VolumeMounts {
			if content, ok := contents[m.Name]; ok {
				files[pod.Containers[i].Name+" "+m.MountPath] = content[m.SubPath]
			}
		}
	}
	return files
}

// TestPod: volumes that two containers share are there once, secrets too, and the values of the environment arrive.
func TestPod(t *testing.T) {
	w := workload(t, `
metadata: {name: w}
spec:
  containers:
    - name: a
      image: i
      command: [run]
      args: [x]
      env: [{name: PLAIN, value: v}, {name: EMPTY}]
      resources: {cpu: {required: 1}, memory: {required: 1Gi},
	volumes: [{name: data, mountPath: /d, disk: {required: 5Gi}}]}
      config: [{path: /etc/a/conf, value: "1"}, {path: /etc/b/conf, value: "2"}]
      imagePullSecret: registry
    - name: b
      image: i
      resources: {cpu: {required: 1}, memory: {required: 1Gi},
	volumes: [{name: data, mountPath: /d, disk: {required: 5Gi}}]}
      config: [{path: /etc/a/conf, value: "3"}]
      imagePullSecret: registry
`)
	pod := objectOf[*appsv1.Deployment](t, w).Spec.Template.Spec
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		if v.Name == "data" && (v.EmptyDir == nil || v.EmptyDir.SizeLimit.Cmp(resource.MustParse("5Gi")) != 0) {
			t.Errorf("the volume is %v, want at most 5Gi", v)
		}
	}
	if len(pod.Volumes) != 4 || len(volumes) != 4 { // The data, and three files.
		t.Errorf("the volumes are %v", pod.Volumes)
	}
	if len(pod.ImagePullSecrets) != 1 {
		t.Errorf("the secrets are %v", pod.ImagePullSecrets)
	}
	a := pod.Containers[0]
	if diff := cmp.Diff([]corev1.EnvVar{{Name: "PLAIN", Value: "v"}, {Name: "EMPTY"}}, a.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"run"}, {"x"}}, [][]string{a.Command, a.Args}); diff != "" {
		t.Errorf("command and arguments (-want +got):\n%s", diff)
	}
	data := filesOf(pod, oam.Translate(w))
	if diff := cmp.Diff(map[string]string{"a /etc/a/conf": "1", "a /etc/b/conf": "2", "b /etc/a/conf": "3"},
		data); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestServicePorts: the API server refuses a Service with one port or one name twice.
func TestServicePorts(t *testing.T) {
	ports := rapid.Custom(func(t *rapid.T) oamv1alpha2.ContainerPort {
		p := oamv1alpha2.ContainerPort{
			Name: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"), Port: rapid.Int32Range(80, 82).Draw(t, "port"),
		}
		if protocol := rapid.SampledFrom([]string{"", "TCP", "UDP"}).Draw(t, "protocol"); protocol != "" {
			p.Protocol = &protocol
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		w := &oamv1alpha2.ContainerizedWorkload{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
		for range rapid.IntRange(1, 3).Draw(t, "containers") {
			c := oamv1alpha2.Container{Ports: rapid.SliceOfN(ports, 0, 3).Draw(t, "ports")}
			w.Spec.Containers = append(w.Spec.Containers, c)
		}
		wanted := map[string]bool{}
		for i := range w.Spec.Containers {
			for _, p := range w.Spec.Containers[i].Ports {
				wanted[p.Name] = true
			}
		}
		numbers, names := map[string]bool{}, map[string]bool{}
		for _, obj := range oam.Translate(w) {
			s, ok := obj.(*corev1.Service)
			if !ok {
				continue
			}
			for _, p := range s.Spec.Ports {
				number := string(p.Protocol) + p.TargetPort.String()
				if numbers[number] || names[p.Name] || p.Name == "" || p.Port != p.TargetPort.IntVal {
					t.Fatalf("the ports are %v", s.Spec.Ports)
				}
				numbers[number], names[p.Name] = true, true
			}
		}
		if len(wanted) > 0 && len(names) == 0 {
			t.Fatalf("there is no Service for ports with the names %v", wanted)
		}
	})
}

// TestInherited: labels and annotations of the workload are those of the Deployment, but for the annotations about
// the workload itself.
func TestInherited(t *testing.T) {
	w := workload(t, "metadata: {name: w, uid: u, labels: {tier: gold}}\nspec: {containers: [{name: a, image: b}]}")
	w.Annotations = map[string]string{
		"note": "stays", corev1.LastAppliedConfigAnnotation: "{}", authorise.AuthorsAnnotation: "[]",
	}
	d := objectOf[*appsv1.Deployment](t, w)
	if diff := cmp.Diff(map[string]string{"note": "stays"}, d.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	selector := map[string]string{"containerizedworkload.oam.crossplane.io": "u"}
	if diff := cmp.Diff(selector, d.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	labels := map[string]string{"tier": "gold", "containerizedworkload.oam.crossplane.io": "u"}
	for _, got := range []map[string]string{d.Labels, d.Spec.Template.Labels} {
		if diff := cmp.Diff(labels, got); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	}
	if len(w.Annotations) != 3 || len(w.Labels) != 1 {
		t.Errorf("the workload was changed: %v, %v", w.Annotations, w.Labels)
	}
}

// TestDefinitionName: the label names the definition, and else the definition has the name of the CRD.
func TestDefinitionName(t *testing.T) {
	resource := schema.GroupResource{Group: "standard.oam.dev", Resource: "mydbs"}
	for label, want := range map[string]string{"": "mydbs.standard.oam.dev", "fast": "fast"} {
		obj := &metav1.ObjectMeta{Labels: map[string]string{oamv1alpha2.LabelWorkloadType: label}}
		if got := oam.DefinitionName(obj, oamv1alpha2.LabelWorkloadType, resource); got != want {
			t.Errorf("the label %q gives %s, want %s", label, got, want)
		}
	}
}

// TestExposed: with the label on any child, traits act on the labelled children alone, in their order.
func TestExposed(t *testing.T) {
	labels := func(value string) map[string]string { return map[string]string{oamv1alpha2.LabelExpose: value} }
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.SampledFrom([]string{"true", "false", "", "True"})).Draw(t, "values")
		exposed := 0
		for _, v := range values {
			if v == "true" {
				exposed++
			}
		}
		got := oam.Exposed(values, labels)
		if exposed == 0 {
			if diff := cmp.Diff(values, got); diff != "" {
				t.Fatalf("nobody is labelled (-want +got):\n%s", diff)
			}
			return
		}
		for _, v := range got {
			if v != "true" {
				t.Fatalf("of %v are exposed %v", values, got)
			}
		}
		if len(got) != exposed {
			t.Fatalf("of %v are exposed %v", values, got)
		}
	})
}
