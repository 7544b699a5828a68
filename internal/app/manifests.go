package app

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Manifests returns the objects that Install applies, in the order in which Install applies them, without asking
// a cluster. The same options give the same manifests. Left out is what only a cluster knows: the certificates to
// trust and the secret path of the webhooks, which the operator writes into the webhook configurations.
func Manifests(o Options, mutatingPolicies bool) ([]*unstructured.Unstructured, error) {
	if o.WebhookHost != "" && o.WebhookPort == 0 {
		return nil, errors.New("--webhook-host needs --webhook-port, the port of the operator that will run there")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	objects, err := Objects(o, mutatingPolicies)
	if err != nil {
		return nil, err
	}
	scheme, err := NewScheme(o)
	if err != nil {
		return nil, err
	}
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, obj := range objects {
		u, err := Manifest(scheme, obj)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}
