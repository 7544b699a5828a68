package admission

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRefusedCertificate: the API server that refuses the certificate has told a user the path in its error. So the
// path is suspected.
func TestRefusedCertificate(t *testing.T) {
	known := newPaths(t)
	address := strings.TrimPrefix(started(t, Options{Certificates: known}, http.NotFoundHandler()), "https://")
	_, err := tls.Dial("tcp", address, &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "kinship-webhook"})
	if err == nil {
		t.Fatal("the client takes a certificate of nobody that it knows")
	}
	select {
	case path := <-known.suspected:
		if path != "secret" {
			t.Errorf("%q is suspected, want the present path", path)
		}
	case <-time.After(10 * time.Second):
		t.Error("the path is not suspected")
	}
}

// TestNumberProvesOnce: a number of an echo proves one connection. Whoever sees the number later proves nothing.
func TestNumberProvesOnce(t *testing.T) {
	e := newEchoes()
	here := &connection{}
	e.asked.Store(leastNumber, here)
	if wanted, asked := e.take(leastNumber); !asked || wanted != here {
		t.Error("the number that was sent is not known")
	}
	if _, asked := e.take(leastNumber); asked {
		t.Error("the number is known twice")
	}
}

// TestFullOfHeads: a client that has learnt the path, and holds every connection, does not keep the API server out once
// the path is worthless: with each request its connection is the first to be closed.
func TestFullOfHeads(t *testing.T) {
	known := newPaths(t)
	address := started(t, Options{Certificates: known, Connections: 2}, http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	client := func() *http.Client {
		anyone := &tls.Config{InsecureSkipVerify: true} // The test looks at bounds only.
		transport := &http.Transport{TLSClientConfig: anyone, MaxConnsPerHost: 1}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 10 * time.Second}
	}
	ask := func(c *http.Client, path string, want int) {
		t.Helper()
		response, err := c.Head(address + path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s is answered %d, want %d", path, response.StatusCode, want)
		}
	}
	first, second := client(), client()
	ask(first, "/hook/secret", http.StatusNoContent)
	ask(second, "/hook/secret", http.StatusNoContent)
	known.standing = nil // The path is replaced.
	ask(first, "/hook/secret", http.StatusNotFound)
	ask(second, "/hook/secret", http.StatusNotFound)
	for range 10 {
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", strings.TrimPrefix(address, "https://"),
			&tls.Config{InsecureSkipVerify: true}) // Bounds only.
		if err != nil {
			t.Fatalf("a new client: %v", err)
		}
		_ = c.Close()
	}
}
