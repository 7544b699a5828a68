package builtin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/relation/builtin"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// everything serves each kind. Objects of the listed kinds have no namespace.
type everything []string

var served = everything{
	"Node", "PersistentVolume", "StorageClass", "PriorityClass", "CSIDriver", "ClusterRole", "IngressClass",
	"ValidatingAdmissionPolicy", "PriorityLevelConfiguration", "DeviceClass", "RuntimeClass",
}

// Mapping implements relation.Kinds.
func (e everything) Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error) {
	return watch.Mapping{Kind: gvk.Kind, Namespaced: !slices.Contains(e, gvk.Kind)}, nil
}

// extracted returns each edge of an object as "relation -> target", with a "?" behind the name of a relation
// that is not required, and the finalizer that keeps the target.
func extracted(t *testing.T, text string) []string {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, r := range builtin.Relations() {
		if r.Declarer != u.GroupVersionKind().GroupKind() {
			continue
		}
		for _, e := range r.Extract(u, served) {
			name := r.Name
			if r.Later {
				name += "?"
			}
			if r.Role != relation.Dependency {
				name += fmt.Sprintf(" (%s)", r.Role)
			}
			line := name + " -> " + e.Target.String()
			if r.Finalizer != "" {
				line += " by " + r.Finalizer
			}
			found = append(found, line)
		}
	}
	slices.Sort(found)
	return found
}

const podWithVolumes = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  serviceAccountName: robot
  priorityClassName: high
  imagePullSecrets: [{name: registry}]
  volumes:
  - {name: a, secret: {secretName: tls}}
  - {name: b, secret: {secretName: extra, optional: true}}
  - {name: c, configMap: {name: conf, optional: false}}
  - {name: d, persistentVolumeClaim: {claimName: data}}
  - {name: e, projected: {sources: [{secret: {name: one, optional: true}}, {configMap: {name: two}}]}}
  - {name: f, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}
  - {name: g, csi: {driver: disk.example, nodePublishSecretRef: {name: mount}}}
  containers:
  - env:
    - {name: A, value: plain}
    - {name: B, valueFrom: {secretKeyRef: {name: db, key: password}}}
    - {name: C, valueFrom: {configMapKeyRef: {name: flags, key: c, optional: true}}}
    envFrom: [{secretRef: {name: all}}, {configMapRef: {name: most, optional: true}}]
  initContainers:
  - envFrom: [{configMapRef: {name: first}}]
`

// TestPod: a Pod waits for each target that the kubelet needs to start the containers. Targets with
// optional: true, and the Secrets of imagePullSecrets, are not required.
func TestPod(t *testing.T) {
	want := []string{
		"pod-claim-unscheduled -> PersistentVolumeClaim/data in namespace shop",
		"pod-containers-env-configmap-optional? -> ConfigMap/flags in namespace shop",
		"pod-containers-env-secret -> Secret/db in namespace shop",
		"pod-containers-envfrom-configmap-optional? -> ConfigMap/most in namespace shop",
		"pod-containers-envfrom-secret -> Secret/all in namespace shop",
		"pod-csi-driver -> CSIDriver.storage.k8s.io/disk.example",
		"pod-csi-secret -> Secret/mount in namespace shop",
		"pod-ephemeral-storageclass -> StorageClass.storage.k8s.io/fast",
		"pod-initContainers-envfrom-configmap -> ConfigMap/first in namespace shop",
		"pod-priorityclass -> PriorityClass.scheduling.k8s.io/high",
		"pod-projected-configmap -> ConfigMap/two in namespace shop",
		"pod-projected-secret-optional? -> Secret/one in namespace shop",
		"pod-pull-secret? -> Secret/registry in namespace shop",
		"pod-serviceaccount -> ServiceAccount/robot in namespace shop",
		"pod-volume-configmap -> ConfigMap/conf in namespace shop",
		"pod-volume-secret -> Secret/tls in namespace shop",
		"pod-volume-secret-optional? -> Secret/extra in namespace shop",
	}
	if diff := cmp.Diff(want, extracted(t, podWithVolumes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPodKeepsItsClaim: a Pod keeps its claim by a finalizer only when the Pod has a node, as the claim
// protection controller decides. A claim is a single edge in either case.
func TestPodKeepsItsClaim(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {%s" +
		"volumes: [{persistentVolumeClaim: {claimName: data}}]}}"
	const claim = " -> PersistentVolumeClaim/data in namespace shop"
	for scheduled, want := range map[string][]string{
		"nodeName: n1, ": {"pod-claim" + claim + " by kubernetes.io/pvc-protection", "pod-node -> Node/n1"},
		"nodeName: '', ": {"pod-claim-unscheduled" + claim},
		"":               {"pod-claim-unscheduled" + claim},
	} {
		if diff := cmp.Diff(want, extracted(t, fmt.Sprintf(pod, scheduled))); diff != "" {
			t.Errorf("%s(-want +got):\n%s", scheduled, diff)
		}
	}
}

// TestTemplates: each kind with a template of Pods declares the references of the template, and no finalizer
// keeps a claim for a template.
func TestTemplates(t *testing.T) {
	_, spec, _ := strings.Cut(podWithVolumes, "spec:")
	pod := strings.ReplaceAll(spec, "\n", "\n      ")
	ofPod := extracted(t, podWithVolumes)
	const template = "spec:\n  template:\n    spec:"
	for _, c := range []struct{ apiVersion, kind, head string }{
		{"apps/v1", "Deployment", template},
		{"apps/v1", "ReplicaSet", template},
		{"apps/v1", "StatefulSet", template},
		{"apps/v1", "DaemonSet", template},
		{"v1", "ReplicationController", template},
		{"batch/v1", "Job", template},
		{"batch/v1", "CronJob", "spec:\n jobTemplate:\n  spec:\n   template:\n    spec:"},
		{"v1", "PodTemplate", "template:\n    spec:"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: web, namespace: shop}\n%s%s",
				c.apiVersion, c.kind, c.head, pod)
			want := make([]string, 0, len(ofPod))
			for _, line := range ofPod {
				line = strings.Replace(line, "pod-claim-unscheduled", "pod-claim", 1)
				want = append(want, strings.ToLower(c.kind)+strings.TrimPrefix(line, "pod"))
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, extracted(t, text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReferencesOfKinds extracts the edges of kinds outside of the workloads: across namespaces, by kind, by
// selector, and held by finalizers.
func TestReferencesOfKinds(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a claim keeps its volume": {
			"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: shop}, spec: {volumeName: v, " +
				"storageClassName: fast, dataSourceRef: {apiGroup: snap.example, kind: Snapshot, name: s, namespace: old}}}",
			[]string{
				"persistentvolumeclaim-datasource -> Snapshot.snap.example/s in namespace old",
				"persistentvolumeclaim-storageclass -> StorageClass.storage.k8s.io/fast",
				"persistentvolumeclaim-volume -> PersistentVolume/v by kubernetes.io/pv-protection",
			},
		},
		"a volume outlives its claim": {
			"{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {claimRef: {name: c, namespace: shop}, " +
				"csi: {driver: d, nodeStageSecretRef: {name: s, namespace: kube-system}}}}",
			[]string{
				"persistentvolume-claim? -> PersistentVolumeClaim/c in namespace shop",
				"persistentvolume-csi-driver -> CSIDriver.storage.k8s.io/d",
				"persistentvolume-csi-nodeStage-secret -> Secret/s in namespace kube-system",
			},
		},
		"a Service without a selector": {
			"{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {}}", nil,
		},
		"a Service": {
			"{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {selector: {app: web, tier: front}}}",
			[]string{"service-pods (Binding) -> every Pod in namespace shop that matches app=web,tier=front"},
		},
		"an empty podSelector is every Pod": {
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: n, namespace: shop}, " +
				"spec: {podSelector: {}}}",
			[]string{"networkpolicy-pods (Binding) -> every Pod in namespace shop that matches everything"},
		},
		"an Ingress": {
			"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: shop}, spec: {" +
				"ingressClassName: nginx, tls: [{secretName: tls}], rules: [{http: {paths: [{backend: {service: {name: a}}}, " +
				"{backend: {resource: {apiGroup: x, kind: Bucket, name: b}}}]}}]}}",
			[]string{
				"ingress-class -> IngressClass.networking.k8s.io/nginx", "ingress-resource -> Bucket.x/b in namespace shop",
				"ingress-secret -> Secret/tls in namespace shop", "ingress-service -> Service/a in namespace shop",
			},
		},
		"an autoscaler acts on its target": {
			"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}, " +
				"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, " +
				"metrics: [{object: {describedObject: {apiVersion: v1, kind: Service, name: s}}}]}}",
			[]string{
				"horizontalpodautoscaler-metric -> Service/s in namespace shop",
				"horizontalpodautoscaler-target (Binding) -> Deployment.apps/web in namespace shop",
			},
		},
		"a RoleBinding to a ClusterRole": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: shop}, " +
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [" +
				"{kind: ServiceAccount, name: robot, namespace: ci}, {kind: ServiceAccount, name: local}, " +
				"{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]}",
			[]string{
				"rolebinding-account (Binding) -> ServiceAccount/local in namespace shop",
				"rolebinding-account (Binding) -> ServiceAccount/robot in namespace ci",
				"rolebinding-clusterrole -> ClusterRole.rbac.authorization.k8s.io/view",
			},
		},
		"a RoleBinding to a Role": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: shop}, " +
				"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: edit}}",
			[]string{"rolebinding-role -> Role.rbac.authorization.k8s.io/edit in namespace shop"},
		},
		"an aggregated ClusterRole": {
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all}, " +
				"aggregationRule: {clusterRoleSelectors: [{matchLabels: {to: all}}]}}",
			[]string{"clusterrole-aggregated (Binding) -> every ClusterRole that matches to=all"},
		},
		"a webhook by URL and a webhook by Service": {
			"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, " +
				"webhooks: [{clientConfig: {url: 'https://a'}}, {clientConfig: {service: {name: hook, namespace: sys}}}]}",
			[]string{"validatingwebhookconfiguration-service -> Service/hook in namespace sys"},
		},
		"an APIService of the API server itself": {
			"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.}, spec: {version: v1}}", nil,
		},
		"a FlowSchema": {
			"{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: f}, spec: {" +
				"priorityLevelConfiguration: {name: low}, rules: [{subjects: [{kind: ServiceAccount, serviceAccount: " +
				"{name: robot, namespace: ci}}, {kind: User, user: {name: alice}}]}]}}",
			[]string{
				"flowschema-account (Binding) -> ServiceAccount/robot in namespace ci",
				"flowschema-prioritylevel -> PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io/low",
			},
		},
		"a ResourceClaim": {
			"{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: r, namespace: shop}, spec: {devices: " +
				"{requests: [{exactly: {deviceClassName: gpu}}, {firstAvailable: [{deviceClassName: a}, {deviceClassName: b}]}]}}}",
			[]string{
				"resourceclaim-deviceclass -> DeviceClass.resource.k8s.io/gpu",
				"resourceclaim-deviceclass-either -> DeviceClass.resource.k8s.io/a",
				"resourceclaim-deviceclass-either -> DeviceClass.resource.k8s.io/b",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := append([]string{}, c.want...)
			if diff := cmp.Diff(want, extracted(t, c.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRelationsAreNamed: the name of a relation is unique, because explanations and metrics find a relation
// by its name. Each relation has a text for people.
func TestRelationsAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range builtin.Relations() {
		if seen[r.Name] || r.Doc == "" || r.Declarer.Empty() || r.Role == "" || r.Field == "" {
			t.Errorf("%+v has no name of its own, or no text, declarer, role or field", r.Row())
		}
		seen[r.Name] = true
	}
	if a, b := builtin.Relations(), builtin.Relations(); len(a) == 0 || &a[0] == &b[0] {
		t.Error("two callers share a slice")
	}
}
