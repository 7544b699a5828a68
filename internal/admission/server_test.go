package admission

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/freeport"
)

// paths are Certificates with fixed paths.
type paths struct {
	own       tls.Certificate
	standing  map[string]certificate.Standing
	suspected chan string
}

func newPaths(t *testing.T) *paths {
	t.Helper()
	own, err := certificate.SelfSigned("kinship-webhook")
	if err != nil {
		t.Fatal(err)
	}
	return &paths{own, map[string]certificate.Standing{
		"secret": certificate.Present, "former": certificate.Former,
	}, make(chan string, 10)}
}

func (p *paths) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &p.own, nil }

func (p *paths) Suspect(path string) { p.suspected <- path }

func (p *paths) Current() (certificate.Bundle, bool) { return certificate.Bundle{Path: "secret"}, true }

func (p *paths) Check(_ context.Context, path string) (certificate.Standing, error) {
	return p.standing[path], nil
}

// TestAnswerInFull cancels the context of a server while a handler works on a request, as SIGTERM
// does. The handler still works with its context, until shortly before the API server gives up. The
// handler is registered as the packs register theirs.
func TestAnswerInFull(t *testing.T) {
	for query, longest := range map[string]time.Duration{
		"?timeout=3s": 3 * time.Second, "?timeout=30s": longestAnswer, "?timeout=-1s": longestAnswer,
		"?timeout=soon": longestAnswer, "": longestAnswer,
	} {
		ctx, sigterm := context.WithCancel(t.Context())
		hooks := NewServer(Options{Certificates: newPaths(t)}, NewMetrics())
		hooks.Register("/hook", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sigterm()
			until, _ := r.Context().Deadline()
			left := time.Until(until)
			_, _ = fmt.Fprintf(w, "error %v, in time %t", r.Context().Err(), left > longest/2 && left < longest*9/10)
		}))
		server := httptest.NewUnstartedServer(hooks.WebhookMux())
		server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
		server.Start()
		t.Cleanup(server.Close)
		for path, want := range map[string]string{
			"/hook/secret": "error <nil>, in time true", "/hook/SECRET": "error <nil>, in time true",
			"/hook/former": "error <nil>, in time true",
			"/hook/":       "404 page not found\n", "/hook/other": "404 page not found\n",
		} {
			if got := textAt(t, server.URL+path+query); got != want {
				t.Errorf("GET %s%s: %q, want %q", path, query, got, want)
			}
		}
	}
}

func textAt(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// started runs a Server until the end of the test, and returns its address.
func started(t *testing.T, o Options, hook http.Handler) string {
	t.Helper()
	return startedServer(t, NewServer(o, NewMetrics()), hook)
}

func startedServer(t *testing.T, s *Server, hook http.Handler) string {
	t.Helper()
	o, err := &s.options, error(nil)
	o.Host, o.Log = "127.0.0.1", testr.New(t)
	if o.Port, err = freeport.Find(o.Host); err != nil {
		t.Fatal(err)
	}
	s.Register("/hook", hook)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address := fmt.Sprintf("127.0.0.1:%d", o.Port)
	for { // Start has no signal before the port is open.
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
			return "https://" + address
		}
	}
}

// client returns a client that trusts every server, and presents a certificate if there is one.
func client(t *testing.T, certs ...tls.Certificate) *http.Client {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, Certificates: certs, // The test is about clients.
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func post(ctx context.Context, c *http.Client, url string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return c.Do(request)
}

// TestGivenUp: a client gives up on a call, as the API server does when an answer takes too long. The API server has
// told a user the path, so the path is suspected. A call that is answered, and a former path, are not.
func TestGivenUp(t *testing.T) {
	certs := newPaths(t)
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	url := started(t, Options{Certificates: certs}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if r.URL.RawQuery == "" {
			<-release
		}
	}))
	c := client(t)
	response, err := post(t.Context(), c, url+"/hook/secret?answered", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	<-arrived
	for _, path := range []string{"/hook/former", "/hook/secret"} {
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if response, err := post(ctx, c, url+path, http.NoBody); err == nil {
				_ = response.Body.Close()
			}
		}()
		<-arrived
		giveUp()
		<-ended
	}
	if path := <-certs.suspected; path != "secret" {
		t.Errorf("the suspected path is %q", path)
	}
	close(release)
	select {
	case path := <-certs.suspected:
		t.Errorf("%q is suspected too", path)
	default:
	}
}

// TestClientCertificate: with ClientCAs, only a client with a certificate gets an answer. Without a certificate the
// operator's own HEAD request is still answered.
func TestClientCertificate(t *testing.T) {
	apiServer, stranger := clientCertificate(t), clientCertificate(t)
	pool := x509.NewCertPool()
	pool.AddCert(apiServer.Leaf)
	url := started(t, Options{Certificates: newPaths(t), ClientCAs: pool},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, connectionOf(r.Context()).isProven())
		})) + "/hook/secret"
	response, err := post(t.Context(), client(t), url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("without a certificate: %s", response.Status)
	}
	if response, err := post(t.Context(), client(t, stranger), url, http.NoBody); err == nil {
		_ = response.Body.Close()
		t.Errorf("with a certificate of another CA: %s", response.Status)
	}
	response, err = post(t.Context(), client(t, apiServer), url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	proven, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || string(proven) != "true" {
		t.Errorf("with the certificate: %s, the connection is proven: %s, error %v", response.Status, proven, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err = client(t).Do(request); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("HEAD without a certificate: %s", response.Status)
	}
}

// clientCertificate returns a certificate of a client, which is its own CA.
func clientCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// TestBudget fills the budget of large reviews. Another large review is answered with 429, its own uid and a reason,
// before the API server gives up. A small review is answered at once.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget()
		release := make(chan struct{})
		hook := answerInFull(b.bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > smallReview {
				<-release
			}
			_, _ = fmt.Fprint(w, "judged")
		})))
		serve := func(body string) (*httptest.ResponseRecorder, time.Duration) {
			w, start := httptest.NewRecorder(), time.Now()
			hook.ServeHTTP(w, httptest.NewRequestWithContext(
				t.Context(), http.MethodPost, "/?timeout=3s", strings.NewReader(body)))
			return w, time.Since(start)
		}
		first := make(chan struct{})
		go func() {
			defer close(first)
			serve(strings.Repeat(" ", largeBudget))
		}()
		synctest.Wait()
		review := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5"}}` +
			strings.Repeat(" ", smallReview)
		w, took := serve(review)
		var answer admissionv1.AdmissionReview
		if err := json.NewDecoder(w.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		r := answer.Response
		if r == nil || r.Allowed || r.UID != "705ab4f5" || r.Result.Code != http.StatusTooManyRequests {
			t.Errorf("a large review is answered by %+v", r)
		}
		if took > 2*time.Second {
			t.Errorf("the answer took %v of 3 s", took)
		}
		if w, took := serve(`{"request":{}}`); w.Body.String() != "judged" || took > 0 {
			t.Errorf("a small review: %s after %v", w.Body, took)
		}
		close(release)
		<-first
		if w, took := serve(review); w.Body.String() != "judged" || took > 0 {
			t.Errorf("a large review after the first one: %s after %v", w.Body, took)
		}
		if w, _ := serve(strings.Repeat(" ", maxReview+1)); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("an endless review is answered by %d", w.Code)
		}
	})
}

// FuzzUID reads the uid of any text in bounded time, and finds the uid of a review.
func FuzzUID(f *testing.F) {
	f.Add([]byte(`{"request":{"uid":"a"}}`), "a")
	f.Add([]byte(`{"uid":{"uid":[]}}`), "")
	f.Add(bytes.Repeat([]byte("["), 10000), "")
	f.Fuzz(func(t *testing.T, text []byte, uid string) {
		uidOf(bytes.NewReader(text))
		review, err := json.Marshal(map[string]any{"request": map[string]any{"uid": uid}})
		if err != nil {
			t.Fatal(err)
		}
		var read struct{ Request struct{ UID string } }
		if err := json.Unmarshal(review, &read); err != nil {
			t.Fatal(err)
		}
		if got := uidOf(bytes.NewReader(review)); len(review) < longestUID && string(got) != read.Request.UID {
			t.Errorf("%s has the uid %q, want %q", review, got, read.Request.UID)
		}
	})
}

// TestRoom: without room, new objects and objects that grow are refused with the reason. Other changes reach the
// handler, as does every object of a kind that has room.
func TestRoom(t *testing.T) {
	hook := &webhook.Admission{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Allowed("")
	})}
	Options{Room: func(kind schema.GroupKind, namespace string) error {
		if kind.Kind == "Component" && namespace == "full" {
			return errors.New("no room")
		}
		return nil
	}}.limited(hook)
	for name, test := range map[string]struct {
		kind, namespace, subresource string
		operation                    admissionv1.Operation
		now, old                     int
		want                         bool
	}{
		"created":      {"Component", "full", "", admissionv1.Create, 100, 0, false},
		"grown":        {"Component", "full", "", admissionv1.Update, 101, 100, false},
		"as before":    {"Component", "full", "", admissionv1.Update, 100, 100, true},
		"made smaller": {"Component", "full", "", admissionv1.Update, 99, 100, true},
		"status":       {"Component", "full", "status", admissionv1.Update, 200, 100, true},
		"deleted":      {"Component", "full", "", admissionv1.Delete, 0, 100, true},
		"elsewhere":    {"Component", "free", "", admissionv1.Create, 100, 0, true},
		"another kind": {"Usage", "full", "", admissionv1.Create, 100, 0, true},
	} {
		r := hook.Handler.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: test.operation, Name: "it", Namespace: test.namespace, SubResource: test.subresource,
			Kind:      metav1.GroupVersionKind{Kind: test.kind},
			Object:    runtime.RawExtension{Raw: make([]byte, test.now)},
			OldObject: runtime.RawExtension{Raw: make([]byte, test.old)},
		}})
		if r.Allowed != test.want || !r.Allowed && r.Result.Message != "Component it: no room" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestMaxObject: a large object is refused with name, size and option. A smaller object, an update that makes a large
// object smaller, and the deletion of a large object of any kind reach the handler.
func TestMaxObject(t *testing.T) {
	hook := &webhook.Admission{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Allowed("")
	})}
	Options{MaxObject: 100}.limited(hook)
	for name, test := range map[string]struct {
		operation admissionv1.Operation
		now, old  int
		want      bool
	}{
		"small":           {admissionv1.Create, 100, 0, true},
		"large":           {admissionv1.Create, 101, 0, false},
		"grown":           {admissionv1.Update, 300, 200, false},
		"large as before": {admissionv1.Update, 200, 200, false},
		"made smaller":    {admissionv1.Update, 199, 200, true},
		"deleted":         {admissionv1.Delete, 0, 3000, true},
	} {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: test.operation, Name: "it", Kind: metav1.GroupVersionKind{Kind: "Component"},
			Object:    runtime.RawExtension{Raw: make([]byte, test.now)},
			OldObject: runtime.RawExtension{Raw: make([]byte, test.old)},
		}}
		r := hook.Handler.Handle(t.Context(), req)
		if r.Allowed != test.want {
			t.Errorf("%s: %+v", name, r)
		}
		if !r.Allowed && !strings.Contains(r.Result.Message, fmt.Sprintf("Component it has %d bytes", test.now)) {
			t.Errorf("%s: %s", name, r.Result.Message)
		}
	}
}
