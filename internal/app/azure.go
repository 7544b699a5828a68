package app

import (
	"fmt"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack/azure"
)

// AzureGrant returns the rights that azure.Enable gives to the account of the pack azure, in some
// namespaces. No namespaces means all.
func AzureGrant(namespaces ...string) azure.Grant {
	return azure.Grant{Account: subjectOf(AccountOf("azure")), Namespaces: namespaces}
}

// NewAzureClient returns a client for azure.Enable. The client sends hundreds of requests at once:
// the API server's own priority and fairness decides.
func NewAzureClient(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return c, nil
}
