package operator

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// Proxy is an HTTP proxy between the operator and the API server. Requests of the operator's
// ServiceAccounts pass through the function of [Proxy.Set]; the requests for tokens of these
// ServiceAccounts do not.
type Proxy struct {
	url      string
	Requests atomic.Int64 // with the operator's accounts
	meddle   atomic.Pointer[func(http.ResponseWriter, *http.Request, http.Handler) bool]
}

// NewProxy starts a [Proxy] that ends with the test.
func NewProxy(t *testing.T) *Proxy {
	t.Helper()
	config := testenv.Config(t)
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	// AnonymousClientConfig leaves out the administrator's certificate: with the certificate, every
	// request would be the administrator's.
	admin := forward(t, target, config)
	account := forward(t, target, rest.AnonymousClientConfig(config))
	p := &Proxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			admin.ServeHTTP(w, r)
			return
		}
		p.Requests.Add(1)
		if meddle := p.meddle.Load(); meddle == nil || !(*meddle)(w, r, account) {
			account.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // Watches have no end of their own.
		server.Close()
	})
	p.url = server.URL
	return p
}

func forward(t *testing.T, target *url.URL, config *rest.Config) http.Handler {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{
		TLSClientConfig: tlsConfig,
		TLSNextProto:    map[string]func(string, *tls.Conn) http.RoundTripper{}, // Each request gets a connection of its own.
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // Watches tell at once.
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

// Through makes an operator reach the API server through the [Proxy].
func (p *Proxy) Through(o *options.Options) { o.Config = &rest.Config{Host: p.url, QPS: -1} }

// Kubeconfig returns a kubeconfig file with which a process reaches the API server through the
// [Proxy].
func (p *Proxy) Kubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{Server: p.url}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	config.CurrentContext = "proxy"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Set sets a function that gets each request first. The function may delay a request, or answer the
// request itself and return true.
func (p *Proxy) Set(meddle func(http.ResponseWriter, *http.Request, http.Handler) bool) {
	p.meddle.Store(&meddle)
}

// Answer refuses a request as the API server would.
func Answer(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"injected","reason":%q,"code":%d}`, reason, code)
}
