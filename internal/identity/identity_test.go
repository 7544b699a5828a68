package identity

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestTokenAgain: a request for a token whose answer was lost is repeated; a refused request is not.
func TestTokenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		lost, status int
		token        string
		requests     int64
	}{
		"lost once":  {1, http.StatusCreated, "secret", 2},
		"refused":    {0, http.StatusForbidden, "", 1},
		"lost often": {9, http.StatusCreated, "", 4},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if requests.Add(1) <= int64(c.lost) {
					w.Header().Set("Content-Length", "1000")
				}
				w.WriteHeader(c.status)
				body := `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"secret"}}`
				if c.status == http.StatusForbidden {
					body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
				}
				_, _ = w.Write([]byte(body)) // Shorter than the Content-Length of a lost answer.
			}))
			t.Cleanup(server.Close)
			clients, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			source := &tokenSource{ctx: t.Context(), clients: clients, account: "kinship"}
			token, err := source.Token()
			if got := requests.Load(); got != c.requests {
				t.Errorf("%d requests, want %d (error %v)", got, c.requests, err)
			}
			if c.token == "" && err == nil || c.token != "" && (err != nil || token.AccessToken != c.token) {
				t.Errorf("token %v, error %v", token, err)
			}
		})
	}
}
