package install

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// Manifests returns the objects that [Install] applies, in the order of [Install], without a
// request to a cluster. The same [options.Options] give the same manifests. Webhook configurations have no
// caBundle and no secret path: both depend on the certificate, and a running operator writes both.
func Manifests(o options.Options, mutatingPolicies bool) ([]*unstructured.Unstructured, error) {
	if o.WebhookHost != "" && o.WebhookPort == 0 {
		return nil, errors.New("--webhook-host needs --webhook-port, the port of the operator that will run there")
	}
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	objects, err := Objects(o, mutatingPolicies)
	if err != nil {
		return nil, err
	}
	scheme, err := options.NewScheme(o)
	if err != nil {
		return nil, err
	}
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, obj := range objects {
		u, err := pack.Manifest(scheme, obj)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}
