package main

import (
	"context"
	"fmt"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func connectorName(i int) string { return fmt.Sprintf("c%d", i) }

func deploymentName(connector string, i int) string { return fmt.Sprintf("%s-%d", connector, i) }

// account is what an IotConnector makes for its Pods.
func account(ns, connector string) *corev1.ServiceAccount {
	no := false
	return &corev1.ServiceAccount{
		ObjectMeta:                   metav1.ObjectMeta{Namespace: ns, Name: connector},
		AutomountServiceAccountToken: &no,
	}
}

// deployment is what an IotConnector makes, but that nobody owns it.
func deployment(ns, connector string, i int) *unstructured.Unstructured {
	type fields = map[string]any
	name := deploymentName(connector, i)
	const prefix = "services.azurehealthcareapis.com/"
	selector := fields{prefix + "iotconnector": connector, prefix + "deployment": name}
	pod := fields{prefix + "iotconnector": connector, prefix + "deployment": name, prefix + "type": destination}
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": fields{"namespace": ns, "name": name, "labels": fields{
			prefix + "iotconnector": connector, prefix + "deployment": name, prefix + "type": destination,
			"app.kubernetes.io/managed-by": "plain",
		}},
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

// sample returns the spec of one of the Deployments, as it is now.
func (r *rig) sample(ctx context.Context, ns string) (*appsv1.DeploymentSpec, error) {
	name := deploymentName(connectorName(0), 0)
	d, err := r.clients.AppsV1().Deployments(ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read Deployment %s of namespace %s: %w", name, ns, err)
	}
	return &d.Spec, nil
}

// same fails unless both ways make the same Deployments: nothing else can be compared.
func (r *rig) same(ctx context.Context, ns string) error {
	spec, err := r.sample(ctx, ns)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(r.spec, spec); diff != "" {
		return fmt.Errorf("the Deployments of IotConnectors are not those of plain apply: %s", diff)
	}
	return nil
}
