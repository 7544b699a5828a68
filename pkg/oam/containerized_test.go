package oam_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/oam"
)

const wordpress = `
metadata: {name: web, namespace: team, uid: u2, labels: {app.oam.dev/revision: web-v1, tier: gold}}
spec:
  osType: linux
  arch: amd64
  containers:
    - name: wordpress
      image: wordpress:4
      resources:
        cpu: {required: 500m}
        memory: {required: 1Gi}
        volumes: [{name: data, mountPath: /data, accessMode: RO}]
      ports: [{name: http, containerPort: 80}, {name: metrics, containerPort: 9090, protocol: UDP}]
      env: [{name: A, value: b}, {name: S, fromSecret: {name: secret, key: k}}]
      config:
        - {path: /test/path/config, value: text}
        - {path: /etc/one, fromSecret: {name: secret, key: one}}
        - {path: /etc/two, fromSecret: {name: secret, key: two}}
      readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 5}
      imagePullSecret: registry
`

// workload reads a ContainerizedWorkload.
func workload(t *testing.T, text string) *oamv1alpha2.ContainerizedWorkload {
	t.Helper()
	w := &oamv1alpha2.ContainerizedWorkload{}
	if err := yaml.UnmarshalStrict([]byte(text), w); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTranslate: the objects of a workload have the names of the published runtime.
func TestTranslate(t *testing.T) {
	all := oam.Translate(workload(t, wordpress))
	names := make([]string, 0, len(all))
	var d *appsv1.Deployment
	var s *corev1.Service
	for _, obj := range all {
		names = append(names, obj.GetObjectKind().GroupVersionKind().Kind+"/"+obj.GetName())
		if owner := metav1.GetControllerOf(obj); owner == nil || owner.UID != "u2" || obj.GetNamespace() != "team" {
			t.Errorf("%s has the controller %v and the namespace %s", obj.GetName(), owner, obj.GetNamespace())
		}
		switch o := obj.(type) {
		case *appsv1.Deployment:
			d = o
		case *corev1.Service:
			s = o
		}
	}
	want := []string{"ConfigMap/web-wordpress-3972676475", "Deployment/web", "Service/web"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("objects (-want +got):\n%s", diff)
	}
	if d.Spec.Replicas != nil {
		t.Errorf("replicas is %d: a trait decides", *d.Spec.Replicas)
	}
	if _, has := d.Spec.Template.Labels["app.oam.dev/revision"]; has {
		t.Error("a new revision would start all Pods anew")
	}
	pod := d.Spec.Template.Spec
	nodes := map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
	if diff := cmp.Diff(nodes, pod.NodeSelector); diff != "" {
		t.Errorf("nodeSelector (-want +got):\n%s", diff)
	}
	if len(pod.Volumes) != 4 || len(pod.Containers[0].VolumeMounts) != 4 || pod.ImagePullSecrets[0].Name != "registry" {
		t.Errorf("volumes %v, mounts %v, secrets %v", pod.Volumes, pod.Containers[0].VolumeMounts, pod.ImagePullSecrets)
	}
	checkPorts(t, s)
}

func checkPorts(t *testing.T, s *corev1.Service) {
	t.Helper()
	ports := make([]string, 0, len(s.Spec.Ports))
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s %s %d", p.Name, p.Protocol, p.Port))
	}
	if diff := cmp.Diff([]string{"http TCP 80", "metrics UDP 9090"}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

// TestTranslateWithoutPorts: a workload without ports has no Service.
func TestTranslateWithoutPorts(t *testing.T) {
	w := workload(t, "metadata: {name: job}\nspec: {containers: [{name: a, image: b}]}")
	if all := oam.Translate(w); len(all) != 1 {
		t.Errorf("%d objects: %v", len(all), all)
	}
}
