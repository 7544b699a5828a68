package azure

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// guids of the tests.
const (
	tenantID = "00000000-0000-0000-0000-00000000000b"
	clientID = "00000000-0000-0000-0000-00000000000c"
)

// principal is the data of a Secret, changed.
func principal(changes ...string) map[string][]byte {
	data := map[string][]byte{
		"AZURE_TENANT_ID": []byte(tenantID), "AZURE_CLIENT_ID": []byte(clientID + "\n"),
		"AZURE_SUBSCRIPTION_ID": []byte(subscription[15:]), "AZURE_CLIENT_SECRET": []byte("s3cret"),
	}
	for i := 0; i+1 < len(changes); i += 2 {
		data[changes[i]] = []byte(changes[i+1])
	}
	return data
}

func TestParsePrincipal(t *testing.T) {
	p, err := ParsePrincipal(principal())
	if err != nil || p.Tenant != tenantID || p.Client != clientID || p.Subscription != subscription[15:] {
		t.Errorf("%s %s %s: %v", p.Tenant, p.Client, p.Subscription, err)
	}
	if text := fmt.Sprintf("%+v", p); strings.Contains(text, "s3cret") {
		t.Errorf("the secret is printed: %s", text)
	}
	for why, data := range map[string]map[string][]byte{
		"AZURE_TENANT_ID must be a GUID":       principal("AZURE_TENANT_ID", "contoso"),
		"AZURE_CLIENT_ID must be a GUID":       principal("AZURE_CLIENT_ID", ""),
		"AZURE_SUBSCRIPTION_ID must be a GUID": principal("AZURE_SUBSCRIPTION_ID", "../x"),
		"not both":                             principal("AZURE_CLIENT_CERTIFICATE", "x"),
		"there must be AZURE_CLIENT_SECRET":    principal("AZURE_CLIENT_SECRET", " "),
	} {
		if _, err := ParsePrincipal(data); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want an error with %q", err, why)
		}
	}
}

// entra answers the requests for a token.
type entra struct {
	t      *testing.T
	status int
	body   string
	hosts  map[string]bool
}

// RoundTrip implements http.RoundTripper.
func (e *entra) RoundTrip(r *http.Request) (*http.Response, error) {
	e.hosts[r.URL.Host] = true
	status, body := e.status, e.body
	const base = "https://login.example/" + tenantID
	switch {
	case strings.HasSuffix(r.URL.Path, "openid-configuration"):
		status, body = http.StatusOK, `{"token_endpoint": "`+base+`/oauth2/v2.0/token", "issuer": "`+base+`/v2.0",
			"authorization_endpoint": "`+base+`/oauth2/v2.0/authorize"}`
	case strings.Contains(r.URL.Path, "/discovery/instance"):
		status, body = http.StatusOK, `{"tenant_discovery_endpoint": "`+base+`/v2.0/.well-known/openid-configuration",
			"metadata": []}`
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// TestLogins logs in by secret and by certificate, at the authority that the operator chose.
func TestLogins(t *testing.T) {
	for name, data := range map[string]map[string][]byte{
		"secret":      principal("AZURE_AUTHORITY_HOST", "https://evil.example"),
		"certificate": principal("AZURE_CLIENT_SECRET", "", "AZURE_CLIENT_CERTIFICATE", certificate(t)),
	} {
		for _, row := range []struct {
			status int
			body   string
			want   Class
			code   string
		}{
			{200, `{"token_type": "Bearer", "expires_in": 3600, "access_token": "t"}`, 0, ""},
			{401, `{"error": "invalid_client", "error_description": "wrong"}`, RetrySlowly, "AuthenticationFailed"},
		} {
			e := &entra{t, row.status, row.body, map[string]bool{}}
			p, err := ParsePrincipal(data)
			if err != nil {
				t.Fatal(err)
			}
			credential, err := p.Credential(Login{Authority: "https://login.example", Transport: e})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			client, err := NewClient(Options{
				Endpoint: "https://arm.example", Audience: "https://arm.example", Credential: credential,
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Header.Get("Authorization") != "Bearer t" {
						t.Errorf("%s: Authorization is %q", name, r.Header.Get("Authorization"))
					}
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Get(context.Background(), mustParse(t, network), "v")
			if row.code == "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if row.code != "" {
				if f := Classify(fmt.Errorf("get: %w", err)); f.Class != row.want || f.Code != row.code || f.Outage {
					t.Errorf("%s: %+v", name, f)
				}
			}
			if e.hosts["evil.example"] || !e.hosts["login.example"] {
				t.Errorf("%s: the hosts are %v", name, e.hosts)
			}
		}
	}
}

// roundTrip is a function as an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// certificate returns a certificate with its key, as a Secret has them.
func certificate(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: packed}))
}

func TestWrongCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"none": "x", "a key alone": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: packed})),
	} {
		p, err := ParsePrincipal(principal("AZURE_CLIENT_SECRET", "", "AZURE_CLIENT_CERTIFICATE", text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Credential(Login{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNamedCredentials(t *testing.T) {
	if none, err := NewCredential(NoCredential, Login{}); none != nil || err != nil {
		t.Errorf("none: %v, %v", none, err)
	}
	if chain, err := NewCredential(DefaultCredential, Login{}); chain == nil || err != nil {
		t.Errorf("the default: %v, %v", chain, err)
	}
	if _, err := NewCredential("other", Login{}); err == nil {
		t.Error("other: no error")
	}
}

// TestEndpoints makes clients of clouds.
func TestEndpoints(t *testing.T) {
	credential, err := mustPrincipal(t).Credential(Login{})
	if err != nil {
		t.Fatal(err)
	}
	for endpoint, want := range map[string]string{
		"":                                     "https://management.azure.com",
		"https://management.azure.com/":        "https://management.azure.com",
		"https://management.usgovcloudapi.net": "https://management.usgovcloudapi.net",
		"https://MANAGEMENT.chinacloudapi.cn":  "https://management.chinacloudapi.cn",
		"https://arm.example":                  "",
		"management.azure.com":                 "",
		"https://user@management.azure.com":    "",
	} {
		client, err := NewClient(Options{Endpoint: endpoint, Credential: credential})
		if (err == nil) != (want != "") {
			t.Errorf("%q: %v", endpoint, err)
			continue
		}
		if err == nil && client.endpoint.String() != want {
			t.Errorf("%q: %s, want %s", endpoint, client.endpoint, want)
		}
	}
	for _, endpoint := range []string{"ftp://x", "http://", "http://x?a", "http://x#a", "%"} {
		if _, err := NewClient(Options{Endpoint: endpoint}); err == nil {
			t.Errorf("%q: no error", endpoint)
		}
	}
}

func mustPrincipal(t *testing.T) Principal {
	t.Helper()
	p, err := ParsePrincipal(principal())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
