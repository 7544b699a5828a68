package iot

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/pkg/lists"
)

// Labels of composed objects.
const (
	connectorLabel  = "services.azurehealthcareapis.com/iotconnector"
	deploymentLabel = "services.azurehealthcareapis.com/deployment"
	typeLabel       = "services.azurehealthcareapis.com/type"
	managedByLabel  = "app.kubernetes.io/managed-by"
	managedBy       = "kinship"
)

// Waves of apply.Object: the identity exists before the first Pod needs the identity.
const (
	identityWave int32 = iota
	deploymentWave
)

// fields is a part of an unstructured object. A Go type such as appsv1.Deployment would make
// fieldOwner the manager of every zero value that encoding/json writes.
type fields = map[string]any

// deployment is the input for one rendered Deployment.
type deployment struct {
	connector  *iotv1alpha1.IotConnector
	name, kind string
	containers []iotv1alpha1.Container
	// resources of each container without Container.Resources.
	resources *corev1.ResourceRequirements
	replicas  *int32
	// selector, if set, is spec.selector of the existing Deployment, which is immutable.
	selector map[string]string
}

// render returns the wanted Deployment.
func (d deployment) render(id identity) (apply.Object, error) {
	containers := make([]any, 0, len(d.containers))
	for i := range d.containers {
		c, err := d.container(&d.containers[i])
		if err != nil {
			return apply.Object{}, fmt.Errorf("render Deployment %s: %w", d.name, err)
		}
		containers = append(containers, c)
	}
	selector := d.selector
	if selector == nil {
		selector = map[string]string{connectorLabel: d.connector.Name, deploymentLabel: d.name}
	}
	labels := map[string]string{connectorLabel: d.connector.Name, deploymentLabel: d.name}
	if d.kind != "" {
		labels[typeLabel] = d.kind
	}
	podLabels := map[string]string{}
	for _, from := range []map[string]string{labels, selector, id.podLabels()} {
		maps.Copy(podLabels, from)
	}
	pod := fields{
		"containers": containers,
		"securityContext": fields{
			"runAsNonRoot": true, "seccompProfile": fields{"type": "RuntimeDefault"},
		},
	}
	if account := id.account(); account != "" {
		pod["serviceAccountName"] = account
	}
	if secrets := pullSecrets(d.containers); len(secrets) > 0 {
		pod["imagePullSecrets"] = secrets
	}
	spec := fields{
		"selector": fields{"matchLabels": toFields(selector)},
		"template": fields{"metadata": fields{"labels": toFields(podLabels)}, "spec": pod},
		// The default of maxUnavailable is 25%: a quarter of the Pods would be deleted before
		// new Pods are available. maxSurge is left to other clients.
		"strategy": fields{"type": "RollingUpdate", "rollingUpdate": fields{"maxUnavailable": int64(0)}},
	}
	if d.replicas != nil {
		spec["replicas"] = int64(*d.replicas)
	}
	u := composedObject(deploymentKind, d.connector.Namespace, d.name, labels, fields{"spec": spec})
	return apply.Object{Unstructured: u, Wave: deploymentWave, Note: d.kind}, nil
}

// container renders a container that satisfies the restricted Pod Security Standard, unless
// Container.SecurityContext says otherwise.
func (d deployment) container(c *iotv1alpha1.Container) (fields, error) {
	out := fields{
		"name": iot.ContainerName(c), "image": c.Image,
		"securityContext": fields{
			"allowPrivilegeEscalation": false, "capabilities": fields{"drop": []any{"ALL"}},
		},
	}
	if len(c.EnvironmentVariables) > 0 {
		out["env"] = lists.Map(c.EnvironmentVariables, func(v iotv1alpha1.EnvironmentVariable) any {
			return fields{"name": v.Name, "value": v.Value}
		})
	}
	own := *c
	if own.Resources == nil {
		own.Resources = d.resources
	}
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&own)
	if err != nil {
		return nil, fmt.Errorf("container %s: %w", iot.ContainerName(c), err)
	}
	for _, name := range []string{"resources", "readinessProbe", "livenessProbe", "startupProbe", "securityContext"} {
		if value, set := converted[name]; set {
			out[name] = value
		}
	}
	return out, nil
}

// pullSecrets returns spec.imagePullSecrets of the Pod: each Secret that a container names, once.
func pullSecrets(containers []iotv1alpha1.Container) []any {
	var names []string
	var refs []any
	for i := range containers {
		for _, name := range containers[i].ImagePullSecrets {
			if !slices.Contains(names, name) {
				names = append(names, name)
				refs = append(refs, fields{"name": name})
			}
		}
	}
	return refs
}

// composedObject returns an object with labels, app.kubernetes.io/managed-by included.
func composedObject(
	gvk schema.GroupVersionKind, namespace, name string, labels map[string]string, content fields,
) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetName(name)
	all := map[string]string{managedByLabel: managedBy}
	maps.Copy(all, labels)
	u.SetLabels(all)
	return u
}

func toFields(m map[string]string) fields {
	out := make(fields, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}
