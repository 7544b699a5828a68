package iot

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
)

// probe sends a dry-run creation of an IotConnector that only the validating webhook refuses: two
// spec.deployments have the same name. If the API server calls the mutating webhook later than
// the validating webhook, the controller adds the finalizer.
func probe(ctx context.Context, c client.Client, namespace string) error {
	twice := iotv1alpha1.Deployment{Name: "twice", Containers: []iotv1alpha1.Container{{Type: "Probe", Image: "none"}}}
	connector := &iotv1alpha1.IotConnector{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "kinship-probe-"},
		Spec:       iotv1alpha1.IotConnectorSpec{Deployments: slices.Repeat([]iotv1alpha1.Deployment{twice}, 2)},
	}
	return pack.Probe(ctx, c, connector, validateName, "IotConnectors")
}
