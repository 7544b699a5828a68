package chaos_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// proxy is a proxy between the operator and the API server. Requests of the operator's own
// account pass through meddle; requests for the token of this account do not.
type proxy struct {
	url      string
	requests atomic.Int64 // with the operator's account
	// meddle, if set, may answer a request itself, and then returns true. It may also delay a
	// request.
	meddle atomic.Pointer[func(http.ResponseWriter, *http.Request, http.Handler) bool]
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	config := testenv.Config(t)
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	// With the administrator's certificate, every request would be the administrator's.
	admin := forward(t, target, config)
	account := forward(t, target, rest.AnonymousClientConfig(config))
	p := &proxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			admin.ServeHTTP(w, r)
			return
		}
		p.requests.Add(1)
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

// through has an operator reach the API server through the proxy.
func (p *proxy) through(o *app.Options) { o.Config = &rest.Config{Host: p.url, QPS: -1} }

// kubeconfig has a process reach the API server through the proxy.
func (p *proxy) kubeconfig(t *testing.T) string {
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

// set replaces meddle.
func (p *proxy) set(meddle func(http.ResponseWriter, *http.Request, http.Handler) bool) {
	p.meddle.Store(&meddle)
}

// answer answers a request as the API server would.
func answer(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`+
		`"message":"injected","reason":%q,"code":%d}`, reason, code)
}

// isWatch reports whether a request watches one of our own kinds.
func isWatch(r *http.Request) bool {
	ours := strings.HasPrefix(r.URL.Path, "/apis/protection.crossplane.io/") ||
		strings.HasPrefix(r.URL.Path, "/apis/apiextensions.crossplane.io/") ||
		strings.HasPrefix(r.URL.Path, "/apis/kinship.dev/")
	return ours && r.URL.Query().Get("watch") != ""
}

// swallow calls a handler and drops its answer.
type swallow struct{ header http.Header }

func (s swallow) Header() http.Header         { return s.header }
func (s swallow) Write(b []byte) (int, error) { return io.Discard.Write(b) }
func (s swallow) WriteHeader(int)             {}

// ledger counts the changes that the API server makes for the operator, exactly even if the
// operator is killed: a request that has arrived is carried out, whether or not a client waits
// for the answer.
type ledger struct {
	mu      sync.Mutex
	patched []string
}

func (l *ledger) meddle(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	if r.Method != http.MethodPatch {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return true // Of half a request nothing comes.
	}
	whole := r.Clone(context.WithoutCancel(r.Context()))
	whole.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, whole)
	if answer.Code == http.StatusOK {
		l.mu.Lock()
		l.patched = append(l.patched, r.URL.Path)
		l.mu.Unlock()
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // The client may be dead.
	return true
}

// patches returns how many changes were made to an object, its status included.
func (l *ledger) patches(namespace, object string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, path := range l.patched {
		if strings.HasSuffix(strings.TrimSuffix(path, "/status"), "/namespaces/"+namespace+"/"+object) {
			n++
		}
	}
	return n
}
