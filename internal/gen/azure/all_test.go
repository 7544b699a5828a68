package azure_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
	"github.com/kinship-dev/kinship/internal/shareddata"
)

// allOfARM returns the library that the embedded catalogue is made from.
func allOfARM(t *testing.T) *azure.Library {
	t.Helper()
	seed := os.DirFS(shareddata.Path(t, "arm-schemas"))
	types, err := os.ReadFile(shareddata.Path(t, "arm-schemas-all/types.json"))
	if err != nil {
		t.Fatal(err)
	}
	l := azure.Load([]fs.FS{seed, shareddata.Archive(t, "arm-schemas-all/schemas.tar.xz")})
	if err := l.AddTypes(types); err != nil {
		t.Fatal(err)
	}
	if err := l.AddFacts(shareddata.Text(t, "arm-facts/arm-facts.jsonl.xz")); err != nil {
		t.Fatal(err)
	}
	const kubernetes = "kubernetesconfiguration.yaml"
	extra, err := os.ReadFile(filepath.Join("extra", kubernetes))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AddExtra(kubernetes, extra); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAllOfARM: all schemas give the committed catalogue and packages, byte for byte, in a gigabyte of memory.
// Each entry of the config is in use, and the few types that are refused are named.
func TestAllOfARM(t *testing.T) {
	config, err := azure.DefaultConfig(true)
	if err != nil {
		t.Fatal(err)
	}
	l := allOfARM(t)
	start := time.Now()
	m, c, err := azure.Generate(l, config)
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	committed, err := os.ReadFile(filepath.Join("..", "..", "..", "api", "azure", "catalogue", "arm.catalogue"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, committed) {
		t.Errorf("the committed catalogue is stale: make generate-azure")
	}
	for _, p := range azure.GoPackages(m) {
		sources, err := p.Render()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			text, err := os.ReadFile(filepath.Join("..", "..", "..", "api", "azure", filepath.FromSlash(p.Folder), s.Name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, s.Text) {
				t.Errorf("the committed package %s is stale: make generate-azure", p.Folder)
			}
		}
	}
	types := map[string]bool{}
	for _, k := range c.Kinds() {
		types[strings.ToLower(k.Type)] = true
	}
	if len(types) < 2493*95/100 {
		t.Errorf("%d types are usable", len(types))
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.Sys > 1<<30 {
		t.Errorf("%d MB from the system", memory.Sys>>20)
	}
	var stats strings.Builder
	azure.Stats(&stats, m)
	t.Logf("%d types in %v, %d MB from the system\n%s", len(types), took, memory.Sys>>20, stats.String())
}

// TestPreserved: the collections of children in the seed's schema of networks are these, and no others.
func TestPreserved(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range c.Kinds() {
		definition, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range definition.Preserved {
			if k.Default {
				got = append(got, strings.TrimPrefix(k.Type, "Microsoft.Network/")+strings.TrimPrefix(p.Path, "/properties"))
			}
		}
	}
	want := []string{
		"expressRouteCircuits/authorizations", "expressRouteCircuits/peerings", "expressRouteCrossConnections/peerings",
		"loadBalancers/inboundNatRules", "networkSecurityGroups/securityRules", "routeFilters/rules", "routeTables/routes",
		"serviceEndpointPolicies/serviceEndpointPolicyDefinitions", "virtualHubs/virtualHubRouteTableV2s",
		"virtualNetworks/subnets", "virtualNetworks/virtualNetworkPeerings", "vpnGateways/connections",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManifest: the committed files are those that the manifest names.
func TestManifest(t *testing.T) {
	root := filepath.Join("..", "..", "..", "api", "azure")
	read := func(name string) []byte {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var m azure.Manifest
	if err := json.Unmarshal(read(filepath.Join(root, "manifest.json")), &m); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		filepath.Join(root, "catalogue", "arm.catalogue"): m.Catalogue, "config.yaml": m.Config,
	}
	for name, hash := range m.Packages {
		want[filepath.Join(root, filepath.FromSlash(name))] = hash
	}
	for name, hash := range want {
		if azure.Hash(read(name)) != hash {
			t.Errorf("%s isn't the file of the manifest: make generate-azure", name)
		}
	}
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range c.Kinds() {
		if k.Default && m.Sources[k.Source.Path] != k.Source.Hash {
			t.Errorf("the manifest has another hash of %s", k.Source.Path)
		}
	}
	if len(m.Packages) != 4 || len(m.Sources) != 4 {
		t.Errorf("%d packages from %d sources", len(m.Packages), len(m.Sources))
	}
}
