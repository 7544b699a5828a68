package azure

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

const resourceManager = cloud.ResourceManager

// cloudOf returns the cloud.Configuration of Options.Endpoint.
func cloudOf(options Options) (cloud.Configuration, error) {
	return cloudFor(options.Endpoint, options.Audience, options.Credential != nil)
}

// cloudFor returns the cloud.Configuration of an endpoint: of Azure's public, government or China cloud, or of another
// cloud. With tokens, the client requests tokens, which have an audience.
func cloudFor(endpoint, audience string, tokens bool) (cloud.Configuration, error) {
	known := []cloud.Configuration{cloud.AzurePublic, cloud.AzureGovernment, cloud.AzureChina}
	for _, one := range known {
		own := one.Services[resourceManager]
		if endpoint == "" || strings.EqualFold(strings.TrimRight(endpoint, "/"), own.Endpoint) {
			return ownCloud(one.ActiveDirectoryAuthorityHost, own.Endpoint, cmp.Or(audience, own.Audience)), nil
		}
	}
	if audience == "" && tokens {
		return cloud.Configuration{}, fmt.Errorf("the endpoint %s is not of a cloud of Azure: its tokens need an audience",
			quote(endpoint))
	}
	return ownCloud("", endpoint, cmp.Or(audience, endpoint)), nil
}

func ownCloud(authority, endpoint, audience string) cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: authority,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			resourceManager: {Endpoint: endpoint, Audience: audience},
		},
	}
}

// Names of the operator's own credentials, for [NewCredential].
const (
	// DefaultCredential is azidentity's chain: environment, workload identity, managed identity,
	// az.
	DefaultCredential = "default"
	// NoCredential sends no token, for the emulator.
	NoCredential = "none"
)

// Login has the options of requests for tokens.
type Login struct {
	// Authority is the host of Microsoft Entra; empty means the host of Azure's public cloud.
	Authority string
	// Transport sends the requests; nil means the transport of azidentity.
	Transport http.RoundTripper
}

func (l Login) options() policy.ClientOptions {
	options := policy.ClientOptions{Cloud: cloud.AzurePublic}
	if l.Authority != "" {
		options.Cloud.ActiveDirectoryAuthorityHost = l.Authority
	}
	if l.Transport != nil {
		options.Transport = &http.Client{Transport: l.Transport}
	}
	return options
}

// NewCredential returns the operator's own credential with a name, or nil for [NoCredential].
func NewCredential(name string, login Login) (azcore.TokenCredential, error) {
	switch name {
	case NoCredential:
		return nil, nil
	case DefaultCredential, "":
		return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
			ClientOptions: login.options(),
		})
	default:
		return nil, fmt.Errorf("no credential %s: there are %s and %s", quote(name), DefaultCredential, NoCredential)
	}
}

// Principal is a service principal, as in the Secret of a namespace.
type Principal struct {
	Tenant, Client, Subscription string

	secret, certificate, password []byte
}

// ParsePrincipal reads the data of a Secret: AZURE_TENANT_ID, AZURE_CLIENT_ID,
// AZURE_SUBSCRIPTION_ID, and AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE with
// AZURE_CLIENT_CERTIFICATE_PASSWORD.
//
// A Secret can't select a workload identity or a managed identity: both would be the operator's,
// and the author of the Secret could name any client that trusts the operator. A Secret can't name
// a host either: the operator would send AZURE_CLIENT_SECRET there.
func ParsePrincipal(data map[string][]byte) (Principal, error) {
	value := func(key string) []byte { return bytes.TrimSpace(data[key]) }
	p := Principal{
		Tenant: string(value("AZURE_TENANT_ID")), Client: string(value("AZURE_CLIENT_ID")),
		Subscription: string(value("AZURE_SUBSCRIPTION_ID")), secret: value("AZURE_CLIENT_SECRET"),
		certificate: data["AZURE_CLIENT_CERTIFICATE"], password: value("AZURE_CLIENT_CERTIFICATE_PASSWORD"),
	}
	for _, one := range []struct{ key, value string }{
		{"AZURE_TENANT_ID", p.Tenant}, {"AZURE_CLIENT_ID", p.Client}, {"AZURE_SUBSCRIPTION_ID", p.Subscription},
	} {
		if !guid.MatchString(one.value) {
			return Principal{}, fmt.Errorf("read the credentials of Azure: %s must be a GUID", one.key)
		}
	}
	if (len(p.secret) > 0) == (len(p.certificate) > 0) {
		return Principal{}, errors.New(
			"read the credentials of Azure: there must be AZURE_CLIENT_SECRET or AZURE_CLIENT_CERTIFICATE, not both")
	}
	return p, nil
}

// Credential returns a credential that logs in as the [Principal]. Credential sends no request.
func (p Principal) Credential(login Login) (azcore.TokenCredential, error) {
	if len(p.certificate) == 0 {
		credential, err := azidentity.NewClientSecretCredential(p.Tenant, p.Client, string(p.secret),
			&azidentity.ClientSecretCredentialOptions{ClientOptions: login.options()})
		if err != nil {
			return nil, fmt.Errorf("make a credential of client %s: %w", p.Client, err)
		}
		return credential, nil
	}
	certificates, key, err := azidentity.ParseCertificates(p.certificate, p.password)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of client %s: %w", p.Client, err)
	}
	credential, err := azidentity.NewClientCertificateCredential(p.Tenant, p.Client, certificates, key,
		&azidentity.ClientCertificateCredentialOptions{ClientOptions: login.options()})
	if err != nil {
		return nil, fmt.Errorf("make a credential of client %s: %w", p.Client, err)
	}
	return credential, nil
}

// isLogin reports whether a request was not sent because Microsoft Entra refused a token. A login
// without an answer does not count.
func isLogin(err error) bool {
	if failed, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok {
		return failed.RawResponse != nil
	}
	_, required := errors.AsType[*azidentity.AuthenticationRequiredError](err)
	return required || strings.Contains(err.Error(), "failed to acquire a token")
}
