package usage

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
)

// probe tries by dry runs whether the API server calls the webhooks of Usages. The API server
// follows a new webhook configuration, and new certificates, with a delay. Both are proven when
// the mutating webhook completes a Usage, and the validating webhook refuses another Usage.
func probe(ctx context.Context, c client.Client, namespace string) error {
	thing := sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: "kinship-probe"},
	}
	reason := "to try whether webhooks are called"
	u := &protectionv1beta1.Usage{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kinship-probe"},
		Spec:       sharedv1alpha1.UsageSpec{Of: thing, Reason: &reason},
	}
	itself := u.DeepCopy()
	itself.Spec.By = &thing
	if err := c.Create(ctx, u, client.DryRunAll); err != nil {
		return fmt.Errorf("try webhook %s: %w", defaultName, err)
	}
	if !finalizer.On(u) {
		return errors.New("the API server does not call webhook " + defaultName + " yet")
	}
	return pack.Probe(ctx, c, itself, validateName, "Usages")
}
