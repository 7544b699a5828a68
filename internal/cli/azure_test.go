package cli

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/install"
)

// azureCommandOutput runs a command "kinship azure", and returns its output, its errors and its exit code.
func azureCommandOutput(t *testing.T, arguments ...string) (out, errOut string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(t.Context(), "test", append([]string{"kinship", "azure"}, arguments...), strings.NewReader(""), &o, &e)
	return o.String(), e.String(), code
}

// TestAzureOffline: the commands that ask neither Azure nor a cluster.
func TestAzureOffline(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	theirs := write("theirs.yaml", `
apiVersion: network.azure.com/v1api20201101
kind: RouteTable
metadata: {name: t}
spec: {owner: {name: rg}, location: westeurope, magic: 1}
`)
	body := write("body.json", `{"location":"westeurope","odd":null}`)
	exported := write("exported.json", `{"id": "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/`+
		`providers/Microsoft.Sql/servers/db", "name": "db", "type": "Microsoft.Sql/servers", "location": "westeurope",
		"kind": "v12.0", "etag": "a", "systemData": {"createdBy": "b"}, "properties": {"administratorLogin": "boss",
		"administratorLoginPassword": "mask", "state": "Ready", "fullyQualifiedDomainName": "c", "later": 1}}`)
	const group = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg"
	const server = group + "/providers/Microsoft.Sql/servers/db"
	for name, c := range map[string]struct {
		arguments   []string
		out, errOut string
		code        int
	}{
		"names": {
			[]string{"kinds", "-o", "name", "Microsoft.Network/virtualNetworks/subnets"},
			"virtualnetworkssubnets.microsoft.network.infra.azure.com\n", "", 0,
		},
		"page": {
			[]string{"kinds", "-o", "markdown", "Microsoft.Network/virtualNetworks/subnets"},
			"| VirtualNetworksSubnet | v20200301 | `Microsoft.Network/virtualNetworks/subnets` | VirtualNetwork | " +
				"`spec.ipAllocations[*]`: IpAllocation", "", 0,
		},
		"explain": {
			[]string{"explain", "virtualnetworkssubnet"},
			"reference spec.routeTable: RouteTable\n", "", 0,
		},
		"explain tells how to enable": {
			[]string{"explain", "natgateways.microsoft.network.infra.azure.com"},
			"enable: kinship azure enable Microsoft.Network/natGateways\n", "", 0,
		},
		"no such kind":    {[]string{"explain", "Nothing"}, "", `no kind "Nothing"`, command.ExitUsage},
		"no such pattern": {[]string{"kinds", "Microsoft.Nothing/*"}, "", "no type of Azure matches", command.ExitUsage},
		"render": {
			[]string{"render", "-f", "../../examples/azure", "--subscription", "11111111-2222-3333-4444-555555555555"},
			"PUT https://management.azure.com/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/shop/" +
				"providers/Microsoft.Network/virtualNetworks/internal?api-version=2020-03-01\n", "", 0,
		},
		"render of no file": {
			[]string{"render", "-f", filepath.Join(folder, "missing.yaml")}, "", "read the manifests: ", 1,
		},
		"convert": {
			[]string{"convert", "-f", theirs},
			"ownerRef:\n    kubernetes:\n      name: rg\n",
			"RouteTable/t: left out magic: this api-version has no such field", 0,
		},
		"import": {
			[]string{"import", "--keep-unknown", "--body", body, group}, "raw:\n  - path: /odd\n", "", 0,
		},
		"import without what Azure alone writes": {
			[]string{"import", "--body", exported, server},
			"spec:\n  administratorLogin: boss\n  import:\n    id: " + server +
				"\n  location: westeurope\n  managementPolicy: unmanaged\n  ownerRef:\n",
			"left out /properties/later\n", 0,
		},
		"import of no id": {[]string{"import", "/x"}, "", "parse the ARM id", command.ExitUsage},
		"a catalogue that is none": {
			[]string{"kinds", "--azure-catalogue", body}, "", "the file is no catalogue of armgen", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := azureCommandOutput(t, c.arguments...)
			if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errOut, c.errOut) {
				t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
			}
		})
	}
}

// TestAzureClientIsNotThrottled: kinds are enabled as fast as the API server answers. A client of client-go's
// default speed would wait most of the time in a bucket of tokens, before each request after the first ones.
func TestAzureClientIsNotThrottled(t *testing.T) {
	const requests = 100
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		config := &rest.Config{Host: "http://nowhere", Transport: replies(func(r *http.Request) string {
			if r.URL.Path == "/api/v1" {
				return `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[` +
					`{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["list"]}]}`
			}
			sent++
			return `{"kind":"SecretList","apiVersion":"v1","items":[]}`
		})}
		c, err := install.NewAzureClient(config)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now() // The bubble's clock advances only while all goroutines wait.
		for range requests {
			if err := c.List(t.Context(), &corev1.SecretList{}); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(begin); sent < requests || waited > 0 {
			t.Errorf("%d requests waited for %s", sent, waited)
		}
	})
}

// replies is a transport that sends nothing, and answers with JSON.
type replies func(*http.Request) string

func (a replies) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(a(r))), Request: r,
	}, nil
}

// TestAzureCatalogueRefused: the operator does not start with a catalogue that is cut off, was changed, or is
// of a later release, and says which file it is and what is wrong.
func TestAzureCatalogueRefused(t *testing.T) {
	whole, err := os.ReadFile("../../api/azure/catalogue/arm.catalogue")
	if err != nil {
		t.Fatal(err)
	}
	const formatAt = len("ARMCATALOGUE\n")
	changed := func(at int, by byte) []byte {
		other := bytes.Clone(whole)
		other[at] += by
		return other
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":        {nil, "the file is cut off"},
		"cut off":      {whole[:len(whole)/2], "the file is cut off or was changed: its hash differs"},
		"forged":       {changed(len(whole)-1, 1), "the file is cut off or was changed: its hash differs"},
		"later format": {changed(formatAt, 1), "update the program, or make the file with its armgen"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "arm.catalogue")
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{
				{"operator", "--kubeconfig", "nowhere"},
				{"azure", "kinds"},
				{"azure", "enable", "*", "--kubeconfig", "nowhere"},
			} {
				var out, errOut bytes.Buffer
				arguments := append([]string{"kinship"}, append(command, "--azure-catalogue", path)...)
				code := Main(t.Context(), "test", arguments, strings.NewReader(""), &out, &errOut)
				if code == 0 || !strings.Contains(errOut.String(), c.want) || !strings.Contains(errOut.String(), path) {
					t.Errorf("%v: exit code %d, %s", command, code, errOut.String())
				}
			}
		})
	}
}
