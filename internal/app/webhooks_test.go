package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAnswerInFull cancels the context of a server while a handler works on a request, as SIGTERM
// does. The handler still works with its context, which has a deadline.
func TestAnswerInFull(t *testing.T) {
	ctx, sigterm := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(answerInFull(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sigterm()
		_, bounded := r.Context().Deadline()
		_, _ = fmt.Fprintf(w, "error %v, deadline %t", r.Context().Err(), bounded)
	})))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(server.Close)
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if want := "error <nil>, deadline true"; err != nil || string(text) != want {
		t.Errorf("the handler answered %q, error %v, want %q", text, err, want)
	}
}
