package answers

import (
	"errors"
	"testing"

	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestAbsentText names what waits for a missing object, and the next step. Each case has its reason.
func TestAbsentText(t *testing.T) {
	id := object.ID{Group: "microsoft.network.infra.azure.com", Kind: "RouteTable", Namespace: "shop", Name: "x"}
	front := relation.Edge{
		Declarer: object.ID{Kind: "VirtualNetworksSubnet", Namespace: "shop", Name: "front"}, Field: "spec.routeTable",
	}
	named := "It is named by VirtualNetworksSubnet/front (spec.routeTable).\n"
	for reason, row := range map[string]struct {
		absence lineage.Absence
		want    string
	}{
		"another object waits for it": {
			lineage.Absence{ID: id, NamedBy: []relation.Edge{front}, Elsewhere: []string{"web"}},
			named + "Next: create " + id.String() + ", or change what names it (ask the owner).",
		},
		"the namespace is wrong": {
			lineage.Absence{ID: id, Elsewhere: []string{"a", "b", "c", "d", "e", "f"}},
			"Next: name another namespace with -n: there is a RouteTable/x in a, b, c, d, e and 1 more.",
		},
		"there is no such namespace": {
			lineage.Absence{ID: id, NoNamespace: true, Elsewhere: []string{"web"}},
			"Next: name another namespace with -n: there is no namespace shop.",
		},
		"nothing is known": {
			lineage.Absence{ID: id},
			"Next: check the name, or name another namespace with -n; kubectl get lists the objects of the kind.",
		},
		"it would have no namespace": {
			lineage.Absence{ID: object.ID{Kind: "Namespace", Name: "x"}},
			"Next: check the name; kubectl get lists the objects of the kind.",
		},
	} {
		if got := absentText(&row.absence); got != row.want {
			t.Errorf("%s: got %q, want %q", reason, got, row.want)
		}
	}
}

// TestUnserved names the command that installs a kind of Azure.
func TestUnserved(t *testing.T) {
	base := errors.New("the cluster serves no kind")
	const enable = "the cluster serves no kind, which is a kind of Azure: kinship azure enable " +
		"Microsoft.Network/routeTables installs it"
	for kind, want := range map[string]string{
		"RouteTable":  enable,
		"routetables": enable,
		"routetables.microsoft.network.infra.azure.com": enable,
		"routetables.example.com":                       "the cluster serves no kind; kubectl api-resources lists them",
		"servers": "the cluster serves no kind; kubectl api-resources lists them; if a kind of Azure is meant, " +
			"kinship azure enable TYPE installs it, with one of the types Microsoft.AnalysisServices/servers, " +
			"Microsoft.DBforMariaDB/servers, Microsoft.DBforMySQL/servers, Microsoft.DBforPostgreSQL/servers, " +
			"Microsoft.Sql/servers",
		"unicorn": "the cluster serves no kind; kubectl api-resources lists them",
	} {
		if got := unserved(base, kind).Error(); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}
