package azuremove

import (
	_ "embed" // for counterparts.tsv
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// otherSuffix ends the API groups of Azure Service Operator v2, such as network.azure.com.
const otherSuffix = ".azure.com"

// counterparts has the kinds of Azure Service Operator v2 with their ARM types: KIND.GROUP, a tab, and the type.
//
//go:embed counterparts.tsv
var counterparts string

// types returns the ARM types of counterparts, by KIND.GROUP in lower case.
var types = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(counterparts) {
		name, armType, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[strings.ToLower(name)] = armType
	}
	return all
})

// counterpart returns the kind for a kind of Azure Service Operator v2. A kind that counterparts lacks has the name of
// ours: VirtualNetwork of network.azure.com is VirtualNetwork of microsoft.network.infra.azure.com.
func counterpart(all *catalogue.Catalogue, gk schema.GroupKind) *catalogue.Kind {
	provider, ok := strings.CutSuffix(gk.Group, otherSuffix)
	if !ok || strings.HasSuffix(gk.Group, catalogue.GroupSuffix) {
		return nil
	}
	if armType := types()[strings.ToLower(gk.String())]; armType != "" {
		return all.Default(armType)
	}
	kinds := all.ByGroupKind(schema.GroupKind{Group: "microsoft." + provider + catalogue.GroupSuffix, Kind: gk.Kind})
	if len(kinds) == 0 {
		return nil
	}
	return all.Default(kinds[0].Type)
}
