package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinship-dev/kinship/internal/certificate"
)

// registrar is the part of a webhook.Server that registers handlers.
type registrar struct {
	webhook.Server
	http.ServeMux
}

// Register implements webhook.Server.
func (r *registrar) Register(path string, hook http.Handler) { r.Handle(path, hook) }

// TestAnswerInFull cancels the context of a server while a handler works on a request, as SIGTERM
// does. The handler still works with its context, until shortly before the API server gives up. The
// handler is registered as the packs register theirs.
func TestAnswerInFull(t *testing.T) {
	for query, longest := range map[string]time.Duration{
		"?timeout=3s": 3 * time.Second, "?timeout=30s": longestAnswer, "?timeout=-1s": longestAnswer,
		"?timeout=soon": longestAnswer, "": longestAnswer,
	} {
		ctx, sigterm := context.WithCancel(t.Context())
		var hooks registrar
		secret := func() (certificate.Bundle, bool) { return certificate.Bundle{Path: "secret"}, true }
		registering := hidden{&hooks, secret, newFailures()}
		registering.Register("/hook", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sigterm()
			until, _ := r.Context().Deadline()
			left := time.Until(until)
			_, _ = fmt.Fprintf(w, "error %v, in time %t", r.Context().Err(), left > longest/2 && left < longest*9/10)
		}))
		server := httptest.NewUnstartedServer(&hooks.ServeMux)
		server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
		server.Start()
		t.Cleanup(server.Close)
		for path, want := range map[string]string{
			"/hook/secret": "error <nil>, in time true", "/hook/SECRET": "error <nil>, in time true",
			"/hook/": "404 page not found\n", "/hook/other": "404 page not found\n",
		} {
			if got := textAt(t, server.URL+path+query); got != want {
				t.Errorf("GET %s%s: %q, want %q", path, query, got, want)
			}
		}
	}
}

func textAt(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get(address)
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
