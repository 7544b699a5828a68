package admission

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// TestUnreadReviews: as many large reviews of one user as may wait do so, and nobody reads them. Another large review
// is answered at once. Small reviews that come by the same connection are answered meanwhile.
func TestUnreadReviews(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	server := NewServer(Options{Certificates: newPaths(t)}, NewMetrics())
	url := startedServer(t, server, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if r.ContentLength > smallReview {
			close(held)
			<-release
		}
		_, _ = fmt.Fprint(w, "judged by ", r.Proto)
	})) + "/hook/secret?timeout=10s"
	c := client(t)
	send := func(size int) string {
		response, err := post(t.Context(), c, url, bytes.NewReader(bytes.Repeat([]byte(" "), size)))
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return fmt.Sprint(string(text), err)
	}
	const judged, busy = "judged by HTTP/2.0<nil>", "try again in a few seconds"
	first := make(chan string, 1)
	go func() { first <- send(largeBudget) }()
	<-held
	var refused atomic.Int32
	answers := make(chan string)
	for range waitingReviews {
		go func() {
			answer := send(2 << 20)
			refused.Add(1)
			answers <- answer
		}()
	}
	for server.budget.waiting.TryAcquire(1) { // Fewer than waitingReviews wait.
		server.budget.waiting.Release(1)
		runtime.Gosched()
	}
	if answer := send(2 << 20); !strings.Contains(answer, busy) {
		t.Errorf("one large review more is answered by %s", answer)
	}
	for i := range 20 {
		if answer := send(smallReview); answer != judged {
			t.Fatalf("small review %d is answered by %s", i, answer)
		}
	}
	if n := refused.Load(); n > 0 {
		t.Errorf("the small reviews waited until %d large ones were refused", n)
	}
	for range waitingReviews {
		if answer := <-answers; !strings.Contains(answer, busy) {
			t.Errorf("a large review is answered by %s", answer)
		}
	}
	close(release)
	if answer := <-first; answer != judged {
		t.Errorf("the first large review is answered by %s", answer)
	}
}

// TestFreshConnection: a client sends the begin of a review before it knows the bounds of the server, and the review is
// answered.
func TestFreshConnection(t *testing.T) {
	url := started(t, Options{Certificates: newPaths(t)}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, err)
	})) + "/hook/secret?timeout=10s"
	for range 50 {
		response, err := post(t.Context(), client(t), url, bytes.NewReader(make([]byte, 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(text) != "1048576 <nil>" || err != nil {
			t.Fatalf("answered with %s, error %v", text, err)
		}
	}
}
