// Package emulated has what the emulators of clouds have in common: lost connections, and the knobs by which users
// and tests look into a cloud.
package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Reset is when a fault drops the connection.
type Reset string

const (
	// NoReset answers.
	NoReset Reset = ""
	// BeforeExecution drops the connection and does nothing.
	BeforeExecution Reset = "before"
	// AfterExecution carries out the request and drops the connection instead of answering: the client
	// does not learn the result.
	AfterExecution Reset = "after"
)

// Drop resets the connection of a request, which the client sees as an error at once. Where the connection can't
// be taken over, as with HTTP/2, Drop aborts the handler by a panic that package http knows.
func Drop(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if errors.Is(err, http.ErrNotSupported) {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		return // The connection has ended.
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // Without a reset, the client sees the end of the connection.
	}
	_ = connection.Close()
}

// Knobs serve the state of a cloud below /_emulator/.
type Knobs struct {
	Mux *http.ServeMux
	// MaxRequest bounds the body of a request, in bytes.
	MaxRequest int64
}

// Serve answers requests of a pattern, as in "GET /_emulator/calls", with the JSON of a result. nil is answered by
// 204, and an error by 400.
func (k Knobs) Serve(pattern string, do func(w http.ResponseWriter, r *http.Request) any) {
	k.Mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, k.MaxRequest)
		result := do(w, r)
		if result == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if _, failed := result.(error); failed {
			w.WriteHeader(http.StatusBadRequest)
			result = map[string]any{"error": fmt.Sprint(result)}
		}
		_ = json.NewEncoder(w).Encode(result) // A client that has gone is its own business.
	})
}
