package azure_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
)

const gateways = "Microsoft.Network/natGateways"

// TestEnabledLater: a kind is served by the running operator as soon as it is enabled. It can't be disabled
// while it has objects, and can be enabled again.
func TestEnabledLater(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"),
		subnet("front", "net", "natGateway: {kubernetes: {name: gate}}"))
	w.says("subnet/front", "the kind NatGateway.microsoft.network.infra.azure.com is not installed")
	gateway := manifest(gateways, "gate", "rg", "location: westeurope")
	for range 2 {
		begin := time.Now()
		w.enable(gateways)
		w.apply(gateway)
		w.ready(gateways + ":gate")
		t.Logf("enabled, and an object Ready after %s", time.Since(begin))
		w.ready("subnet/front")
		err := packazure.Disable(t.Context(), w.C, all(), kindsOf(gateways))
		if err == nil || !strings.Contains(err.Error(), "nothing was disabled, delete the objects first: NatGateway") {
			t.Fatalf("disable with an object: %v", err)
		}
		w.delete("subnet/front", gateways+":gate")
		w.gone("subnet/front", gateways+":gate")
		if err := packazure.Disable(t.Context(), w.C, all(), kindsOf(gateways)); err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		crd.SetName("natgateways.microsoft.network.infra.azure.com")
		w.Gone(crd)
		w.apply(subnet("front", "net", "natGateway: {kubernetes: {name: gate}}"))
		w.says("subnet/front", "False WaitingForReference Waiting for NatGateway/gate to be created")
	}
	w.noneRefused()
}
