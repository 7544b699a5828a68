package main

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managedBy is the only label whose value differs between rig.plain and rig.composed.
const managedBy = "app.kubernetes.io/managed-by"

func connectorName(i int) string { return fmt.Sprintf("c%d", i) }

func deploymentName(connector string, i int) string { return fmt.Sprintf("%s-%d", connector, i) }

// account returns the ServiceAccount that the operator creates for the Pods of an IotConnector.
func account(ns, connector string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		ObjectMeta:                   metav1.ObjectMeta{Namespace: ns, Name: connector},
		AutomountServiceAccountToken: new(false),
	}
}

// deployment returns the Deployment that the operator creates for an IotConnector, without
// ownerReferences.
func deployment(ns, connector string, i int) *unstructured.Unstructured {
	type fields = map[string]any
	name := deploymentName(connector, i)
	const prefix = "services.azurehealthcareapis.com/"
	selector := fields{prefix + "iotconnector": connector, prefix + "deployment": name}
	pod := maps.Clone(selector)
	pod[prefix+"type"] = destination
	labels := maps.Clone(pod)
	labels[managedBy] = "plain"
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": fields{"namespace": ns, "name": name, "labels": labels},
		"spec": fields{
			"selector": fields{"matchLabels": selector},
			"strategy": fields{"type": "RollingUpdate", "rollingUpdate": fields{"maxUnavailable": int64(0)}},
			"template": fields{
				"metadata": fields{"labels": pod},
				"spec": fields{
					"serviceAccountName": connector,
					"securityContext":    fields{"runAsNonRoot": true, "seccompProfile": fields{"type": "RuntimeDefault"}},
					"containers": []any{fields{
						"name": "destination", "image": image,
						"securityContext": fields{
							"allowPrivilegeEscalation": false, "capabilities": fields{"drop": []any{"ALL"}},
						},
					}},
				},
			},
		},
	}}
}

// content has the fields of a Deployment that rig.same compares.
type content struct {
	Labels map[string]string
	Spec   appsv1.DeploymentSpec
}

// made returns the content of each Deployment in a namespace, by name.
func (r *rig) made(ctx context.Context, ns string) (map[string]content, error) {
	list, err := r.clients.AppsV1().Deployments(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Deployments of namespace %s: %w", ns, err)
	}
	all := make(map[string]content, len(list.Items))
	for i := range list.Items {
		d := &list.Items[i]
		delete(d.Labels, managedBy)
		all[d.Name] = content{d.Labels, d.Spec}
	}
	return all, nil
}

// same returns an error unless rig.plain and rig.composed create the same Deployments: the costs of
// different Deployments can't be compared.
func (r *rig) same(ctx context.Context, ns string) error {
	all, err := r.made(ctx, ns)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(r.plainly, all); diff != "" {
		return fmt.Errorf("the Deployments of IotConnectors are not those of plain apply: %s", diff)
	}
	return nil
}
