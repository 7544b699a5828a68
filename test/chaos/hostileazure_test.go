package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/pack/azure"
)

// Subscriptions of the two tenants.
const (
	honestSubscription  = "11111111-0000-0000-0000-000000000000"
	hostileSubscription = "66666666-0000-0000-0000-000000000000"
)

// azureGroup ends the API groups of the kinds of Azure.
const azureGroup = ".infra.azure.com"

// azureTypes are the ARM types of the afternoon.
var azureTypes = []string{
	"Microsoft.Resources/resourceGroups", "Microsoft.Network/virtualNetworks", "Microsoft.Network/virtualNetworks/subnets",
	"Microsoft.Network/routeTables",
}

// evilAzure stands before an emulated Azure. In the hostile subscription it answers as the mood of the hostile cloud
// is, and elsewhere as Azure does.
type evilAzure struct {
	url   string
	good  *emulator.Server
	proxy *httputil.ReverseProxy
	// moods has the mood, once the hostile cloud exists.
	moods atomic.Pointer[evilCloud]
	// gone has each DELETE in the hostile subscription answered with 404.
	gone atomic.Bool
}

func newEvilAzure(t *testing.T) *evilAzure {
	t.Helper()
	good, err := emulator.Start(emulator.Options{RetryAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(good.URL())
	if err != nil {
		t.Fatal(err)
	}
	a := &evilAzure{good: good}
	a.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // The addresses of operations then lead here.
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: a.rewrite,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(a)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = good.Close()
	})
	a.url = server.URL
	return a
}

// args are the flags of an operator that uses it.
func (a *evilAzure) args() []string {
	return []string{"--azure-endpoint", a.url, "--azure-credential", "none", "--azure-subscription", hostileSubscription}
}

// hostile returns the hostile cloud if a request is for the hostile subscription.
func (a *evilAzure) hostile(r *http.Request) *evilCloud {
	if !strings.Contains(r.URL.Path, hostileSubscription) {
		return nil
	}
	return a.moods.Load()
}

// ServeHTTP implements http.Handler.
func (a *evilAzure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := a.hostile(r)
	switch {
	case c == nil:
		a.proxy.ServeHTTP(w, r)
	case a.gone.Load() && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"code":"ResourceNotFound","message":"gone"}}`)
	default:
		c.answer(w, r, a.url, a.proxy)
	}
}

// rewrite alters answers when the hostile cloud lies: they may have the ids of the honest tenant.
func (a *evilAzure) rewrite(r *http.Response) error {
	c := a.hostile(r.Request)
	if c == nil {
		return nil
	}
	mood, _, n := c.now()
	if mood != "lying" {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if n%2 == 0 {
		body = bytes.ReplaceAll(body, []byte(hostileSubscription), []byte(honestSubscription))
		body = bytes.ReplaceAll(body, []byte("/resourceGroups/o-0"), []byte("/resourceGroups/kept"))
	} else {
		body = c.lie(body, n)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// enableAzure enables the kinds of Azure.
func enableAzure(t *testing.T, c client.Client) {
	t.Helper()
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]*catalogue.Kind, 0, len(azureTypes))
	for _, one := range azureTypes {
		kinds = append(kinds, all.Default(one))
	}
	if err := azure.Enable(t.Context(), c, all, kinds, install.AzureGrant()); err != nil {
		t.Fatal(err)
	}
}

// azureSecret is a Secret of the name azure that names a subscription.
func azureSecret(namespace, subscription string) *corev1.Secret {
	const guid = "aaaaaaaa-2222-3333-4444-555555555555"
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "azure"}, Data: map[string][]byte{
		"AZURE_TENANT_ID": []byte(guid), "AZURE_CLIENT_ID": []byte(guid), "AZURE_CLIENT_SECRET": []byte("none"),
		"AZURE_SUBSCRIPTION_ID": []byte(subscription),
	}}
}

func networkKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "microsoft.network" + azureGroup, Version: "v20200301", Kind: kind}
}

var resourceGroupKind = schema.GroupVersionKind{
	Group: "microsoft.resources" + azureGroup, Version: "v20180501", Kind: "ResourceGroup",
}

// azureTenantKinds are the kinds of Azure among tenantKinds. Without credentials of Azure, no spec names the other
// subscription: the emulator would obey.
var azureTenantKinds = []tenantKind{
	{resourceGroupKind, []string{
		"{location: westeurope}", "{location: westeurope}", "{location: westeurope, managedOptions: {onDelete: detach}}",
		"{location: westeurope, managementPolicy: unmanaged, import: {}}", "{location: westeurope, azureName: NAME.}",
		"{location: westeurope, import: {id: /subscriptions/" + hostileSubscription + "/resourceGroups/NAME}}",
		"{location: westeurope, azureName: O-0, import: {}}",
	}},
	{networkKind("VirtualNetwork"), []string{
		"{location: westeurope, ownerRef: {kubernetes: {name: NAME}}, addressSpace: {addressPrefixes: [10.0.0.0/16]}}",
		"{location: westeurope, ownerRef: {azure: {resourceGroup: NAME}}, addressSpace: {addressPrefixes: [10.0.0.0/16]}}",
		"{location: westeurope, ownerRef: {azure: {resourceGroup: 'NAME/../kept'}}}",
	}},
	{networkKind("VirtualNetworksSubnet"), []string{
		"{ownerRef: {kubernetes: {name: NAME}}, addressPrefix: 10.0.1.0/24}",
		"{ownerRef: {kubernetes: {name: NAME}}, addressPrefix: 10.0.2.0/24, routeTable: {kubernetes: {name: NAME}}}",
	}},
	{networkKind("RouteTable"), []string{
		"{location: westeurope, ownerRef: {kubernetes: {name: NAME}}}",
		"{location: westeurope, ownerRef: {kubernetes: {name: NAME}}, azureName: '%2e%2e', disableBgpRoutePropagation: true}",
	}},
}

const keptAzure = `
apiVersion: microsoft.resources.infra.azure.com/v20180501
kind: ResourceGroup
metadata: {name: kept}
spec: {location: westeurope, credentialsRef: {secretName: azure}}
---
apiVersion: microsoft.network.infra.azure.com/v20200301
kind: VirtualNetwork
metadata: {name: net}
spec: {location: westeurope, credentialsRef: {secretName: azure}, ownerRef: {kubernetes: {name: kept}},
  addressSpace: {addressPrefixes: [10.0.0.0/16]}}
---
apiVersion: microsoft.network.infra.azure.com/v20200301
kind: VirtualNetworksSubnet
metadata: {name: sub}
spec: {credentialsRef: {secretName: azure}, ownerRef: {kubernetes: {name: net}}, addressPrefix: 10.0.1.0/24}
`

// comingTable is the RouteTable that comes and goes.
const comingTable = `
apiVersion: microsoft.network.infra.azure.com/v20200301
kind: RouteTable
metadata: {name: table}
spec: {location: westeurope, credentialsRef: {secretName: azure}, ownerRef: {kubernetes: {name: kept}}}
`

// keptAzureObjects are the objects of keptAzure without content.
func (h *honest) keptAzureObjects() []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(h.azureUIDs))
	for _, one := range []struct {
		gvk  schema.GroupVersionKind
		name string
	}{{networkKind("VirtualNetworksSubnet"), "sub"}, {networkKind("VirtualNetwork"), "net"}, {resourceGroupKind, "kept"}} {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(one.gvk)
		u.SetNamespace(h.ns)
		u.SetName(one.name)
		all = append(all, u)
	}
	return all
}

// isAzureReady returns why an object of Azure is not Ready.
func (h *honest) isAzureReady(u *unstructured.Unstructured) error {
	if err := h.c.Get(h.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		return err
	}
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%s %s is not Ready: %v", u.GetKind(), u.GetName(), list))
}

// inAzure returns the names of the resources in the honest tenant's subscription.
func (h *honest) inAzure() map[string]int {
	found := map[string]int{}
	for _, item := range h.azure.good.Inventory() {
		if strings.Contains(item.ID, honestSubscription) {
			found[item.ID[strings.LastIndexByte(item.ID, '/')+1:]]++
		}
	}
	return found
}

// azureIsCorrect returns what of the kept objects of Azure is not as it should be.
func (h *honest) azureIsCorrect() error {
	var errs []error
	for _, u := range h.keptAzureObjects() {
		errs = append(errs, h.isAzureReady(u))
		if uid := h.azureUIDs[u.GetKind()]; uid != "" && uid != u.GetUID() {
			errs = append(errs, fmt.Errorf("%s is another object", u.GetKind()))
		}
	}
	if diff := cmp.Diff(map[string]int{"kept": 1, "net": 1, "sub": 1}, h.inAzure()); diff != "" {
		errs = append(errs, fmt.Errorf("in Azure (-want +got):\n%s", diff))
	}
	return errors.Join(errs...)
}

// tableRound makes a RouteTable and deletes it.
func (h *honest) tableRound(int) error {
	if err := h.insist(func(ctx context.Context) error {
		obj, err := decode(comingTable)
		if err != nil {
			return err
		}
		obj.SetNamespace(h.ns)
		return ignoreExists(h.c.Create(ctx, obj))
	}); err != nil {
		return err
	}
	table := &unstructured.Unstructured{}
	table.SetGroupVersionKind(networkKind("RouteTable"))
	table.SetNamespace(h.ns)
	table.SetName("table")
	if err := h.insist(func(context.Context) error { return h.isAzureReady(table) }); err != nil {
		return err
	}
	if n := h.inAzure()["table"]; n != 1 {
		return fmt.Errorf("the RouteTable is %d times in Azure", n)
	}
	if err := h.c.Delete(h.t.Context(), table); err != nil {
		return err
	}
	if err := h.insist(func(ctx context.Context) error {
		err := h.c.Get(ctx, client.ObjectKeyFromObject(table), table)
		if err == nil {
			return fmt.Errorf("the RouteTable is left: %v", table.Object["status"])
		}
		return client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	if n := h.inAzure()["table"]; n != 0 {
		return fmt.Errorf("the RouteTable is gone, and %d times in Azure", n)
	}
	return nil
}

// azureIsLeft deletes the kept objects of Azure, and returns what is left.
func (h *honest) azureIsLeft() error {
	var errs []error
	for _, u := range h.keptAzureObjects() {
		if err := h.c.Delete(h.t.Context(), u); client.IgnoreNotFound(err) != nil {
			errs = append(errs, err)
		}
		if err := h.c.Get(h.t.Context(), client.ObjectKeyFromObject(u), u); client.IgnoreNotFound(err) != nil || err == nil {
			errs = append(errs, fmt.Errorf("%s is left: %v, error %w", u.GetKind(), u.GetFinalizers(), err))
		}
	}
	if left := h.inAzure(); len(left) > 0 {
		errs = append(errs, fmt.Errorf("left in Azure: %v", left))
	}
	return errors.Join(errs...)
}
