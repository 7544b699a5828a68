package app

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/oam"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
	"github.com/kinship-dev/kinship/internal/pack/usage"
)

// Packs is the list of all packs, on or off.
func Packs(o Options) []pack.Pack {
	o.Usage.Namespaces = o.Namespaces
	all := []pack.Pack{
		usage.Pack(o.Usage),
		iot.Pack(o.Iot),
		openstack.Pack(o.Openstack),
		oam.Pack(o.Oam),
		azure.Pack(o.Azure),
	}
	for i := range all {
		all[i].Objects = keepingSecrets(all[i])
	}
	return all
}

// keepingSecrets returns the objects of a pack, and the policy that keeps the pack's account
// from changing the data of Secrets. The policy is there even if the pack has no right to
// Secrets.
func keepingSecrets(p pack.Pack) func(pack.Installation) []client.Object {
	objects := p.Objects
	policy := pack.KeepSecrets(keepSecretsOf(p.Name), pack.Operators{OperatorOf(p.Name)})
	return func(in pack.Installation) []client.Object {
		return slices.Concat(in.Limit(objects(in)), policy) // The account changes no Secret of any namespace.
	}
}

// keepSecretsOf returns the name of the policy that keeps the account of a pack from changing Secrets.
func keepSecretsOf(packName string) string { return AccountOf(packName) + "-keep-secrets" }

// PackNames returns the names of all packs.
func PackNames() []string {
	all := Packs(Options{})
	names := make([]string, 0, len(all))
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// choose returns the packs that are switched on.
func choose(o Options) ([]pack.Pack, error) {
	all := Packs(o)
	if len(o.Packs) == 0 {
		return all, nil
	}
	for _, name := range o.Packs {
		if !slices.Contains(PackNames(), name) {
			return nil, fmt.Errorf("no pack %q: there are %s", name, strings.Join(PackNames(), ", "))
		}
	}
	// A pack that is named twice runs once.
	return slices.DeleteFunc(all, func(p pack.Pack) bool { return !slices.Contains(o.Packs, p.Name) }), nil
}

// NewScheme returns a scheme with Kubernetes' kinds and the kinds of the named packs; without
// names, the kinds of all packs.
func NewScheme(o Options) (*runtime.Scheme, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	adders := []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, kinshipv1alpha1.AddToScheme,
	}
	for _, p := range chosen {
		adders = append(adders, p.AddToScheme)
	}
	for _, add := range adders {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make scheme: %w", err)
		}
	}
	return scheme, nil
}

// newClient returns a client for the kinds of the packs that are on. The client reads from the
// API server, not from a cache.
func newClient(o Options, config *rest.Config) (client.WithWatch, error) {
	scheme, err := NewScheme(o)
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return c, nil
}
