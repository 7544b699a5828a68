package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/presence"
)

// AzureGrant returns the rights that azure.Enable gives to the account of the pack azure, in some
// namespaces. No namespaces means all.
func AzureGrant(namespaces ...string) azure.Grant {
	return azure.Grant{Account: options.SubjectOf(options.AccountOf("azure")), Namespaces: namespaces}
}

// CheckAzureNamespaces returns an error if the operator that runs the pack azure serves other namespaces. With
// rights in fewer namespaces, the operator could not list any kind of Azure.
func CheckAzureNamespaces(ctx context.Context, c client.Reader, namespaces []string) error {
	running, err := presence.ReadOperators(ctx, c, time.Now())
	if err != nil {
		return err
	}
	return compareNamespaces(running.Running, namespaces)
}

// RunsPack reports whether a running operator has a pack.
func RunsPack(ctx context.Context, c client.Reader, name string) (bool, error) {
	running, err := presence.ReadOperators(ctx, c, time.Now())
	return running.Runs(name), err
}

// compareNamespaces compares the namespaces of the operators that run the pack azure.
func compareNamespaces(operators []presence.OperatorState, namespaces []string) error {
	wanted := sets.New(namespaces...)
	for _, s := range operators {
		if s.Settings == nil || !slices.Contains(s.Settings.Packs, "azure") {
			continue
		}
		if wanted.Equal(sets.New(s.Settings.Namespaces...)) {
			continue
		}
		return fmt.Errorf("--namespaces is %s, but operator %s (Lease %s) serves %s: give enable the same namespaces, or "+
			"first start the operator with these namespaces", namespacesText(namespaces), s.Holder, s.Lease,
			namespacesText(s.Settings.Namespaces))
	}
	return nil
}

// namespacesText returns the value of an option --namespaces for a message.
func namespacesText(namespaces []string) string {
	if len(namespaces) == 0 {
		return "all namespaces"
	}
	return strings.Join(namespaces, ", ")
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
