package emulator

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/emulated"
)

// Reset says when a [Fault] drops the connection.
type Reset = emulated.Reset

// Values of [Reset].
const (
	NoReset         = emulated.NoReset
	BeforeExecution = emulated.BeforeExecution
	AfterExecution  = emulated.AfterExecution
)

// Fault is a misbehaviour for matching requests. An empty field matches every request.
type Fault struct {
	Method string `json:"method,omitempty"`
	// Type is the full type of the resource in any case, or "operation" for polls.
	Type string `json:"type,omitempty"`
	// Name is the name of the resource.
	Name string `json:"name,omitempty"`
	// Skip is the number of matching requests that pass first.
	Skip int `json:"skip,omitempty"`
	// Times is the number of requests that the Fault hits; 0 means 1, and a negative number all
	// requests.
	Times int `json:"times,omitempty"`

	// Status, when set, is the status of the answer, with Code and Message in ARM's form: the
	// [Server] does not carry out the request.
	Status  int    `json:"status,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Detail is the code of a detail in the answer.
	Detail string `json:"detail,omitempty"`
	// Body, when set, replaces the body of the answer with Status.
	Body string `json:"body,omitempty"`
	// RetryAfter is the header Retry-After of an answer with Status, in seconds.
	RetryAfter int `json:"retryAfter,omitempty"`
	// Fails makes the operation fail at its end, with Code and Message.
	Fails bool          `json:"fails,omitempty"`
	Reset Reset         `json:"reset,omitempty"`
	Delay time.Duration `json:"delay,omitempty"`
}

func (f *Fault) matches(call Call, id azure.ID) bool {
	return (f.Method == "" || f.Method == call.Method) && (f.Type == "" || strings.EqualFold(f.Type, call.Type)) &&
		(f.Name == "" || strings.EqualFold(f.Name, id.Name()))
}

// failure returns the refusal with which [Fault] makes an operation fail, or nil.
func (f *Fault) failure() *refusal {
	if !f.Fails {
		return nil
	}
	return &refusal{
		status: http.StatusConflict, code: cmp.Or(f.Code, "InternalServerError"), reason: Ordered,
		message: cmp.Or(f.Message, "The operation failed, as ordered."),
	}
}

// AddFault adds a [Fault]. The first matching [Fault] hits a request.
func (s *Server) AddFault(f Fault) {
	s.control.Lock()
	defer s.control.Unlock()
	f.Times = cmp.Or(f.Times, 1)
	s.faults = append(s.faults, &f)
}

// ClearFaults removes each [Fault].
func (s *Server) ClearFaults() {
	s.control.Lock()
	defer s.control.Unlock()
	s.faults = nil
}

// countCall counts a request, and returns the [Fault] of the request.
func (s *Server) countCall(call Call, id azure.ID) Fault {
	s.control.Lock()
	defer s.control.Unlock()
	s.calls[call]++
	if call.Type != pollCall {
		if s.callsFor[id.Key()] == nil {
			s.callsFor[id.Key()] = map[string]int{}
		}
		s.callsFor[id.Key()][call.Method]++
	}
	for i, f := range s.faults {
		if !f.matches(call, id) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		hit := *f
		if f.Times--; f.Times == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		hit.Delay += s.latency
		return hit
	}
	return Fault{Delay: s.latency}
}

// applyFault applies a [Fault] before a request, and reports whether the [Server] must carry out
// the request.
func (s *Server) applyFault(f Fault, w http.ResponseWriter, r *http.Request, call Call, id azure.ID) bool {
	if f.Delay > 0 && s.options.Wait(r.Context(), f.Delay) != nil {
		return false
	}
	if f.Reset == BeforeExecution {
		emulated.Drop(w)
		return false
	}
	if f.Status == 0 {
		return true
	}
	refused := &refusal{
		status: f.Status, code: f.Code, message: cmp.Or(f.Message, http.StatusText(f.Status)+", as ordered."),
		reason: Ordered, retryAfter: f.RetryAfter,
	}
	if f.Detail != "" {
		refused.details = []any{map[string]any{"code": f.Detail, "message": "As ordered."}}
	}
	answer := refused.reply()
	s.countRefusal(call, id, answer)
	if f.Body == "" {
		write(w, answer)
		return false
	}
	setRetryAfter(w.Header(), f.RetryAfter)
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body)) // A client that has gone is its own business.
	return false
}
