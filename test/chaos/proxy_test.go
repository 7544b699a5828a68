package chaos_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// proxy is a proxy between the operator and the API server.
type proxy struct{ *operator.Proxy }

func newProxy(t *testing.T) *proxy {
	t.Helper()
	return &proxy{operator.NewProxy(t)}
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
