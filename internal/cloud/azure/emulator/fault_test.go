package emulator

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFaults(t *testing.T) {
	w := newWorld(t).ready(group, located(""))
	w.cloud.AddFault(Fault{
		Method: http.MethodPut, Type: "microsoft.network/virtualnetworks", Skip: 1, Times: 2,
		Status: 429, Code: "TooManyRequests", Detail: "D", RetryAfter: 5,
	})
	w.is("the first passes", w.put(vnet, located("")), 201)
	w.settle().is("another type passes", w.put(nic, located("")), 201)
	for range 2 {
		r := w.put(networks+"/b", located(""))
		w.refused("then", r, 429, "TooManyRequests/D")
		if r.header.Get("Retry-After") != "5" {
			t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
		}
	}
	w.is("then it is over", w.put(networks+"/b", located("")), 201)
	w.cloud.AddFault(Fault{Status: 503, Times: -1})
	w.refused("all", w.get(vnet), 503, "")
	w.cloud.ClearFaults()
	w.is("none", w.get(vnet), 200)
	if diff := cmp.Diff(map[Reason]int{Ordered: 2}, w.cloud.Refused()); diff != "" {
		t.Errorf("refused (-want, +got): %s", diff)
	}
}

func TestFailedOperations(t *testing.T) {
	w := newWorld(t).ready(group, located(""))
	w.cloud.AddFault(Fault{Method: http.MethodPut, Fails: true, Code: "AllocationFailed"})
	r := w.put(vnet, located(""))
	w.is("accepted", r, 201)
	poll := strings.TrimPrefix(r.header.Get("Azure-AsyncOperation"), "http://example.com")
	if status := w.get(poll).body["status"]; status != "InProgress" {
		t.Errorf("the status is %v", status)
	}
	ended := w.settle().get(poll)
	if ended.status != 200 || ended.body["status"] != "Failed" || ended.code() != "AllocationFailed" {
		t.Errorf("the end is %d %v", ended.status, ended.body)
	}
	if state := w.get(vnet).state(); state != "Failed" {
		t.Errorf("the network is %s", state)
	}
	w.refused("a reference to what failed", w.put(nic, located(reference("net", vnet))), 429,
		"RetryableError/ReferencedResourceNotProvisioned")
	w.ready(vnet, located(""))
	if state := w.get(vnet).state(); state != "Succeeded" {
		t.Errorf("after another PUT the network is %s", state)
	}
	account := group + "/providers/Microsoft.Batch/batchAccounts/a"
	w.cloud.AddFault(Fault{Method: http.MethodPut, Fails: true, Code: "QuotaExceeded"})
	poll = strings.TrimPrefix(w.put(account, located("")).header.Get("Location"), "http://example.com")
	w.settle().refused("a result's address", w.get(poll), 409, "QuotaExceeded")
}

func TestConnectionIsDropped(t *testing.T) {
	w := newWorld(t).ready(group, located(""))
	dropped := func() (is bool) {
		defer func() { // A recorder has no connection.
			err, _ := recover().(error)
			is = errors.Is(err, http.ErrAbortHandler)
		}()
		w.put(vnet, located(""))
		return false
	}
	w.cloud.AddFault(Fault{Method: http.MethodPut, Reset: BeforeExecution})
	if !dropped() || w.get(vnet).status != 404 {
		t.Error("before the execution: the connection stays, or the network was made")
	}
	w.cloud.AddFault(Fault{Method: http.MethodPut, Reset: AfterExecution})
	if !dropped() || w.get(vnet).status != 200 {
		t.Error("after the execution: the connection stays, or the network was not made")
	}
}

func TestLatencyIsWaitedFor(t *testing.T) {
	var waits []time.Duration
	var ended error
	w := newWorld(t, func(o *Options) {
		o.Latency = time.Second
		o.Wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return ended }
	})
	w.cloud.AddFault(Fault{Delay: time.Minute})
	w.put(group, located(""))
	w.cloud.SetLatency(2 * time.Second)
	w.get(group)
	if diff := cmp.Diff([]time.Duration{time.Minute + time.Second, 2 * time.Second}, waits); diff != "" {
		t.Errorf("waits (-want, +got): %s", diff)
	}
	ended = errors.New("the client is gone")
	w.put(vnet, located(""))
	ended = nil
	w.is("a request that nobody waited for", w.get(vnet), 404)
}

func TestKnobs(t *testing.T) {
	w := newWorld(t).withNetwork()
	knob := func(method, path, body string) string {
		answer := httptest.NewRecorder()
		w.cloud.ServeHTTP(answer, httptest.NewRequest(method, "/_emulator/"+path, strings.NewReader(body)))
		if answer.Code >= http.StatusBadRequest {
			t.Fatalf("%s %s: %d %s", method, path, answer.Code, answer.Body)
		}
		return answer.Body.String()
	}
	var items []Item
	if err := json.Unmarshal([]byte(knob("GET", "inventory", "")), &items); err != nil || len(items) != 3 {
		t.Errorf("inventory: %v, %v", items, err)
	}
	knob("POST", "faults", `{"status": 500, "times": -1}`)
	w.is("a fault", w.get(vnet), 500)
	knob("DELETE", "faults", "")
	knob("PUT", "latency?duration=0s", "")
	knob("DELETE", "resources"+subnet, "")
	w.is("removed", w.get(subnet), 404)
	if calls := knob("GET", "calls", ""); !strings.Contains(calls, `"PUT Microsoft.Network/virtualNetworks":1`) {
		t.Errorf("calls: %s", calls)
	}
	knob("DELETE", "calls", "")
	w.put(vnet+"/subnets/a/b/c", `{}`)
	if refusals := knob("GET", "refusals", ""); !strings.Contains(refusals, "ParentResourceNotFound") {
		t.Errorf("refusals: %s", refusals)
	}
	if !w.cloud.Change(id(t, vnet), map[string]any{"enableDdosProtection": true}) {
		t.Error("the network can't be changed")
	}
	if got := mapOf(w.get(vnet).body["properties"])["enableDdosProtection"]; got != true {
		t.Errorf("the property is %v", got)
	}
}
