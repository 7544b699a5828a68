package emulator

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/emulated"
)

// Call is a kind of request: a method, and the full type of the resource, or "operation" for a poll. A
// resource type has the spelling of the request.
type Call struct {
	Method, Type string
}

// pollCall is the type of polls.
const pollCall = "operation"

// String prints a call as in "PUT Microsoft.Network/virtualNetworks".
func (c Call) String() string { return c.Method + " " + c.Type }

// Refusal is a PUT or DELETE that was refused.
type Refusal struct {
	Method string `json:"method"`
	ID     string `json:"id"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Reason Reason `json:"reason"`
}

// mostRefusals bounds how many refusals are kept one by one; all are counted.
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

// Refusals returns the PUTs and DELETEs that were refused since the start or ResetCalls, the last thousand of them.
func (s *Server) Refusals() []Refusal {
	s.control.Lock()
	defer s.control.Unlock()
	return slices.Clone(s.refusals)
}

// Refused returns how many PUTs and DELETEs were refused, by reason.
func (s *Server) Refused() map[Reason]int {
	s.control.Lock()
	defer s.control.Unlock()
	return maps.Clone(s.refused)
}

// Calls returns the number of requests by method and type, since the start or ResetCalls.
func (s *Server) Calls() map[Call]int {
	s.control.Lock()
	defer s.control.Unlock()
	return maps.Clone(s.calls)
}

// CallsFor returns the number of requests for one resource by method, without polls.
func (s *Server) CallsFor(id azure.ID) map[string]int {
	s.control.Lock()
	defer s.control.Unlock()
	counted := map[string]int{}
	maps.Copy(counted, s.callsFor[id.Key()])
	return counted
}

// CallCount returns the number of requests of a method, or of all methods if it is empty, without polls.
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

// SetLatency makes every request take at least so long.
func (s *Server) SetLatency(d time.Duration) {
	s.control.Lock()
	defer s.control.Unlock()
	s.latency = d
}

// Inventory returns the ids of all resources with their states, in the order of ids.
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

// Item is one resource of the inventory.
type Item struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	State string `json:"state,omitempty"`
}

// Remove drops a resource with all below it without the checks of a DELETE, and reports whether the resource
// existed.
func (s *Server) Remove(id azure.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.store.get(id)
	if r != nil {
		s.store.remove(r)
	}
	return r != nil
}

// Change replaces values in the properties of a resource, as another client of ARM would, and reports whether
// the resource exists. A nil value removes the property.
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
