package emulator

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/emulated"
)

// Call is a sort of request: a method, and the full type of the resource, or "operation" for a
// poll. The type has the spelling of the request.
type Call struct {
	Method, Type string
}

// pollCall is Call.Type of polls.
const pollCall = "operation"

// String returns a call as text: "PUT Microsoft.Network/virtualNetworks".
func (c Call) String() string { return c.Method + " " + c.Type }

// Refusal is a PUT or DELETE that the [Server] refused.
type Refusal struct {
	Method string `json:"method"`
	ID     string `json:"id"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Reason Reason `json:"reason"`
}

// mostRefusals bounds the length of Server.refusals; Server.refused counts all refusals.
const mostRefusals = 1000

// countRefusal records a refusal of a PUT or DELETE.
func (s *Server) countRefusal(call Call, id azure.ID, answer reply) {
	refused := answer.refusal
	if refused == nil || (call.Method != http.MethodPut && call.Method != http.MethodDelete) {
		return
	}
	s.control.Lock()
	defer s.control.Unlock()
	s.refused[refused.reason]++
	s.refusals = append(s.refusals, Refusal{call.Method, id.String(), refused.status, refused.code, refused.reason})
	if len(s.refusals) > mostRefusals {
		s.refusals = slices.Delete(s.refusals, 0, len(s.refusals)-mostRefusals)
	}
}

// Refusals returns the last 1000 refusals of PUT and DELETE since the start or [Server.ResetCalls].
func (s *Server) Refusals() []Refusal {
	s.control.Lock()
	defer s.control.Unlock()
	return slices.Clone(s.refusals)
}

// Refused returns the number of refusals of PUT and DELETE, by [Reason].
func (s *Server) Refused() map[Reason]int {
	s.control.Lock()
	defer s.control.Unlock()
	return maps.Clone(s.refused)
}

// Calls returns the number of requests by method and type, since the start or [Server.ResetCalls].
func (s *Server) Calls() map[Call]int {
	s.control.Lock()
	defer s.control.Unlock()
	return maps.Clone(s.calls)
}

// CallsFor returns the number of requests for a resource by method, without polls.
func (s *Server) CallsFor(id azure.ID) map[string]int {
	s.control.Lock()
	defer s.control.Unlock()
	counted := map[string]int{}
	maps.Copy(counted, s.callsFor[id.Key()])
	return counted
}

// CallCount returns the number of requests of a method, or of all methods for "", without polls.
func (s *Server) CallCount(method string) int {
	sum := 0
	for call, n := range s.Calls() {
		if call.Type != pollCall && (method == "" || call.Method == method) {
			sum += n
		}
	}
	return sum
}

// ResetCalls sets all counters to 0.
func (s *Server) ResetCalls() {
	s.control.Lock()
	defer s.control.Unlock()
	clear(s.calls)
	clear(s.callsFor)
	clear(s.refused)
	s.refusals = nil
}

// SetLatency makes every request take at least the duration d.
func (s *Server) SetLatency(d time.Duration) {
	s.control.Lock()
	defer s.control.Unlock()
	s.latency = d
}

// Inventory returns the ids of all resources with their states, sorted by id.
func (s *Server) Inventory() []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endDue(s.options.Clock())
	items := make([]Item, 0, len(s.store.all))
	for _, key := range slices.Sorted(maps.Keys(s.store.all)) {
		r := s.store.all[key]
		items = append(items, Item{ID: r.id.String(), Type: r.kind.Name, State: r.state})
	}
	return items
}

// Item is a resource of [Server.Inventory].
type Item struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	State string `json:"state,omitempty"`
}

// Sent returns the body of the last PUT of a resource, or nil. Unlike an answer, the body has the secrets.
func (s *Server) Sent(id azure.ID) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.store.get(id); r != nil {
		return runtime.DeepCopyJSON(r.body)
	}
	return nil
}

// Remove removes a resource and all resources below it without the checks of a DELETE, and reports
// whether the resource existed.
func (s *Server) Remove(id azure.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.store.get(id)
	if r != nil {
		s.store.remove(r)
	}
	return r != nil
}

// Change replaces values in the properties of a resource, as another client of ARM would, and
// reports whether the resource exists. A nil value removes the property.
func (s *Server) Change(id azure.ID, properties map[string]any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.store.get(id)
	if r == nil {
		return false
	}
	if mapOf(r.body["properties"]) == nil {
		r.body["properties"] = map[string]any{}
	}
	maps.Copy(mapOf(r.body["properties"]), properties)
	r.body, r.refs = withoutNulls(r.body), nil
	r.refs = referencesIn(r)
	s.store.touch(r)
	return true
}

// controls serves the knobs below /_emulator/, for users of `kinship emulator azure`.
func (s *Server) controls() {
	serve := emulated.Knobs{Mux: s.knobs, MaxRequest: maxRequest}.Serve
	serve("GET /_emulator/inventory", func(http.ResponseWriter, *http.Request) any { return s.Inventory() })
	serve("GET /_emulator/refusals", func(http.ResponseWriter, *http.Request) any { return s.Refusals() })
	serve("GET /_emulator/calls", func(http.ResponseWriter, *http.Request) any {
		counted := map[string]int{}
		for call, n := range s.Calls() {
			counted[call.String()] = n
		}
		return counted
	})
	serve("DELETE /_emulator/calls", func(http.ResponseWriter, *http.Request) any { s.ResetCalls(); return nil })
	serve("DELETE /_emulator/faults", func(http.ResponseWriter, *http.Request) any { s.ClearFaults(); return nil })
	serve("POST /_emulator/faults", func(_ http.ResponseWriter, r *http.Request) any {
		var f Fault
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			return err
		}
		s.AddFault(f)
		return nil
	})
	serve("DELETE /_emulator/resources/", func(_ http.ResponseWriter, r *http.Request) any {
		id, err := azure.ParseID(strings.TrimPrefix(r.URL.Path, "/_emulator/resources"))
		if err != nil {
			return err
		}
		s.Remove(id)
		return nil
	})
	serve("PUT /_emulator/latency", func(_ http.ResponseWriter, r *http.Request) any {
		d, err := time.ParseDuration(r.URL.Query().Get("duration"))
		if err != nil {
			return err
		}
		s.SetLatency(d)
		return nil
	})
}
