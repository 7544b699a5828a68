package options

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// GroupsOf returns the API groups of a pack's kinds.
func GroupsOf(p pack.Pack) []string {
	var groups []string
	if p.Groups != nil {
		groups = slices.Clone(p.Groups())
	}
	for _, definition := range p.Definitions {
		groups = append(groups, schema.ParseGroupResource(definition).Group)
	}
	return groups
}

// Packs returns all packs, on or off.
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
		all[i].Objects = ownObjects(all[i])
	}
	return all
}

// ownObjects returns a pack.Objects function whose webhooks and policies exempt the account of the pack alone. Another
// pack's account may write what a tenant says: the pack oam creates what a Component describes. ownObjects
// also adds pack.KeepSecrets: the policy that forbids the pack's ServiceAccount to change the data of Secrets.
// install.Install applies the policy even if pack.Rules give no right to Secrets.
func ownObjects(p pack.Pack) func(pack.Installation) []client.Object {
	objects := p.Objects
	own := pack.Operators{OperatorOf(p.Name)}
	policy := pack.KeepSecrets(KeepSecretsOf(p.Name), own)
	return func(in pack.Installation) []client.Object {
		in.Operators = own
		return slices.Concat(in.Limit(objects(in)), policy) // The account changes no Secret of any namespace.
	}
}

// KeepSecretsOf returns the name of the policy pack.KeepSecrets of a pack, such as
// kinship-usage-keep-secrets.
func KeepSecretsOf(packName string) string { return AccountOf(packName) + "-keep-secrets" }

// PackNames returns the names of all packs.
func PackNames() []string {
	all := Packs(Options{})
	names := make([]string, 0, len(all))
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// FirstPacks returns the packs of a first installation for which nobody has chosen packs: deletion protection alone.
// The other packs have 40 definitions, and rights to all Secrets.
func FirstPacks() []string { return []string{"usage"} }

// ChosenPacks returns the packs in Options.Packs, or all packs if Options.Packs is empty.
func ChosenPacks(o Options) ([]pack.Pack, error) {
	all := Packs(o)
	if len(o.Packs) == 0 {
		return all, nil
	}
	for _, name := range o.Packs {
		if !slices.Contains(PackNames(), name) {
			return nil, fmt.Errorf("no pack %q: there are %s", name, strings.Join(PackNames(), ", "))
		}
	}
	// DeleteFunc over all keeps a pack once that Options.Packs names twice.
	return slices.DeleteFunc(all, func(p pack.Pack) bool { return !slices.Contains(o.Packs, p.Name) }), nil
}

// NewScheme returns a runtime.Scheme with the kinds of Kubernetes and of the packs in
// Options.Packs; if Options.Packs is empty, with the kinds of all packs.
func NewScheme(o Options) (*runtime.Scheme, error) {
	chosen, err := ChosenPacks(o)
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

// NewClient returns a client.WithWatch for the kinds in [NewScheme]. The client reads from the API
// server, not from a cache.
func NewClient(o Options, config *rest.Config) (client.WithWatch, error) {
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
