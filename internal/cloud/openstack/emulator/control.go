package emulator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/emulated"
)

// Reset is when a fault drops the connection. Refused calls are answered, and a Fault with AfterExecution does not
// count them; of the other fields such a Fault only uses Last.
type Reset = emulated.Reset

// Values of Reset.
const (
	NoReset         = emulated.NoReset
	BeforeExecution = emulated.BeforeExecution
	AfterExecution  = emulated.AfterExecution
)

// Fault is a misbehaviour for the calls that match Service, Method, Resource and Single. An empty
// field matches every call.
type Fault struct {
	Service string `json:"service,omitempty"`
	Method  string `json:"method,omitempty"`
	// Resource is a name of [Server.Calls], such as ports or ports/tags.
	Resource string `json:"resource,omitempty"`
	// Single matches only calls for one resource, as in /v2.0/ports/{id}, and no lists.
	Single bool `json:"single,omitempty"`
	// Skip lets so many matching calls pass first.
	Skip int `json:"skip,omitempty"`
	// Times is how many calls the Fault hits; 0 is one, below 0 all.
	Times int `json:"times,omitempty"`

	// Status, when set, is the answer, such as 503; the call is not carried out.
	Status int `json:"status,omitempty"`
	// Body, when set, is answered with Status. Body is JSON, in the form of the service's
	// errors.
	Body string `json:"body,omitempty"`
	// RetryAfter goes with Status, in seconds.
	RetryAfter int   `json:"retryAfter,omitempty"`
	Reset      Reset `json:"reset,omitempty"`
	// Delay is the time before the call is carried out, unless ClearFaults ends the wait. Slow is the
	// time over which the bytes of the answer are spread.
	Delay time.Duration `json:"delay,omitempty"`
	Slow  time.Duration `json:"slow,omitempty"`
	// Late has a proxy that does not wait answer 504 at once, and the call be carried out so
	// long after that.
	Late time.Duration `json:"late,omitempty"`
	// Together holds calls until so many matching calls are under way at the same time (Fault.met).
	Together int `json:"together,omitempty"`
	// Last has the cloud answer 503 to whatever comes after, until ClearFaults.
	Last bool `json:"last,omitempty"`

	met     *meeting
	cleared <-chan struct{} // Server.cleared when the call came
}

// meeting is where calls wait for each other.
type meeting struct {
	missing int
	full    chan struct{}
}

func (f *Fault) matches(call Call, single bool) bool {
	return (!f.Single || single) && (f.Service == "" || f.Service == call.Service) &&
		(f.Method == "" || f.Method == call.Method) && (f.Resource == "" || f.Resource == call.Resource)
}

// Call is a kind of request.
type Call struct {
	Service, Method, Resource string
}

// String prints a call as in "POST network/ports".
func (c Call) String() string { return c.Method + " " + c.Service + "/" + c.Resource }

// Item is one object of the inventory.
type Item struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	Project string `json:"project,omitempty"`
}

// AddFault adds a misbehaviour. Each call takes the first matching Fault before its execution,
// and the first after.
func (s *Server) AddFault(f Fault) {
	s.control.Lock()
	defer s.control.Unlock()
	f.Times = cmp.Or(f.Times, f.Together, 1)
	if f.Together > 0 {
		f.met = &meeting{missing: f.Together, full: make(chan struct{})}
	}
	s.faults = append(s.faults, &f)
}

// ClearFaults removes all misbehaviours. The calls that Fault.Delay holds are carried out at once.
func (s *Server) ClearFaults() {
	s.control.Lock()
	defer s.control.Unlock()
	s.faults = nil
	close(s.cleared)
	s.cleared = make(chan struct{})
}

// SetLatency makes every call take at least so long.
func (s *Server) SetLatency(d time.Duration) {
	s.control.Lock()
	defer s.control.Unlock()
	s.latency = d
}

// SetBuildTime changes [Options.BuildTime], for changes that have begun as well. With 0, changes end at once.
func (s *Server) SetBuildTime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.BuildTime = d
}

// ExpireTokens ends all tokens that were issued so far.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Calls returns the number of calls by method and resource, since the start or ResetCalls.
func (s *Server) Calls() map[Call]int {
	s.control.Lock()
	defer s.control.Unlock()
	return maps.Clone(s.calls)
}

// Done returns the number of calls that were not refused, since the start or ResetCalls.
func (s *Server) Done() map[Call]int {
	s.control.Lock()
	defer s.control.Unlock()
	return maps.Clone(s.done)
}

// CallCount returns the number of calls to a service, or to all services if it is empty.
func (s *Server) CallCount(service string) int {
	sum := 0
	for call, n := range s.Calls() {
		if service == "" || call.Service == service {
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
	clear(s.done)
}

// Inventory returns everything that clients have made and not deleted, by resource, such as
// network/ports. Resources of the start, and every project's default security group, are left
// out.
func (s *Server) Inventory() map[string][]Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	inventory := map[string][]Item{}
	for _, name := range s.objects.names() {
		for _, o := range s.objects.where(name, func(o object) bool { return !o.flag("_own") }) {
			inventory[name] = append(inventory[name], Item{ID: o.id(), Name: o.str("name"), Project: o.str("project_id")})
		}
	}
	return inventory
}

// Remove drops a resource without the checks of a DELETE, and reports whether the resource
// existed. A table is a key of [Server.Inventory], such as network/routers.
func (s *Server) Remove(table, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	existed := s.objects.get(table, id) != nil
	s.objects.remove(table, id)
	return existed
}

// callOf names a request by the fixed parts of its route.
func callOf(svc *service, r *http.Request) Call {
	_, path, _ := strings.Cut(r.Pattern, " ")
	var parts []string
	for part := range strings.SplitSeq(strings.TrimPrefix(path, svc.base), "/") {
		if part != "" && !strings.Contains(part, "{") && !isVersion(part) {
			parts = append(parts, part)
		}
	}
	return Call{Service: svc.name, Method: r.Method, Resource: strings.Join(parts, "/")}
}

func isVersion(part string) bool {
	return len(part) > 1 && part[0] == 'v' && part[1] >= '1' && part[1] <= '9'
}

// comes counts a call in Server.calls, and returns the [Fault] for the time before the call is
// carried out (Fault.before).
func (s *Server) comes(call Call, single bool) Fault {
	s.control.Lock()
	defer s.control.Unlock()
	s.calls[call]++
	hit := s.hit(call, single, false)
	if hit.met != nil {
		if hit.met.missing--; hit.met.missing == 0 {
			close(hit.met.full)
		}
	}
	hit.Delay += s.latency
	hit.cleared = s.cleared
	return hit
}

// goes counts a call that was carried out in Server.done, and reports whether the call is answered:
// a [Fault] with AfterExecution drops the connection.
func (s *Server) goes(call Call, single bool) bool {
	s.control.Lock()
	defer s.control.Unlock()
	s.done[call]++
	return s.hit(call, single, true).Reset != AfterExecution
}

// hit returns the first of Server.faults that matches a call, for the time before or after the call
// is carried out. The caller holds Server.control.
func (s *Server) hit(call Call, single, after bool) Fault {
	for i, f := range s.faults {
		if (f.Reset == AfterExecution) != after || !f.matches(call, single) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times--; f.Times == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		if f.Last {
			s.faults = []*Fault{{Status: http.StatusServiceUnavailable, Times: -1}}
		}
		return *f
	}
	return Fault{}
}

// before waits, answers or drops the connection as the Fault says, and reports whether the call is
// to be carried out.
func (f Fault) before(w http.ResponseWriter, r *http.Request) bool {
	if f.Delay > 0 && !pause(r, f.Delay, f.cleared) {
		return false
	}
	if f.met != nil {
		select {
		case <-f.met.full:
		case <-r.Context().Done():
			return false
		}
	}
	if f.Reset == BeforeExecution {
		emulated.Drop(w)
		return false
	}
	if f.Late > 0 {
		f.Status = http.StatusGatewayTimeout
	}
	if f.Status == 0 {
		return true
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(f.RetryAfter))
	}
	if f.Body != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		fmt.Fprint(w, f.Body)
		return false
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(f.Status)
	fmt.Fprintf(w, "%s, as ordered", http.StatusText(f.Status))
	return false
}

// after carries out a call after Fault.Late, although the client does not wait.
func (f Fault) after(r *http.Request, answer func(*http.Request)) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	time.AfterFunc(f.Late, func() { answer(again) })
	return nil
}

// controls serves the knobs below /_emulator/, for users of `kinship emulator openstack`.
func (s *Server) controls() {
	serve := emulated.Knobs{Mux: s.mux, MaxRequest: maxRequest}.Serve
	serve("GET /_emulator/inventory", func(http.ResponseWriter, *http.Request) any { return s.Inventory() })
	serve("GET /_emulator/calls", func(http.ResponseWriter, *http.Request) any {
		counted := map[string]int{}
		for call, n := range s.Calls() {
			counted[call.String()] = n
		}
		return counted
	})
	serve("DELETE /_emulator/calls", func(http.ResponseWriter, *http.Request) any { s.ResetCalls(); return nil })
	serve("DELETE /_emulator/tokens", func(http.ResponseWriter, *http.Request) any { s.ExpireTokens(); return nil })
	serve("DELETE /_emulator/faults", func(http.ResponseWriter, *http.Request) any { s.ClearFaults(); return nil })
	serve("POST /_emulator/faults", func(_ http.ResponseWriter, r *http.Request) any {
		var f Fault
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			return err
		}
		s.AddFault(f)
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
