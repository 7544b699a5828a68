package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/shareddata"
)

// sample is a recorded refusal.
type sample struct {
	Status  int
	Headers map[string]string
	Body    string
}

// TestRefusalsHaveTheFormOfRecordedOnes provokes refusals and compares them with recorded ones: the headers, and the
// shape of the body. Texts differ.
func TestRefusalsHaveTheFormOfRecordedOnes(t *testing.T) {
	text, err := os.ReadFile(shareddata.Path(t, "arm-recordings/error-corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Key     []any
		Samples []sample
	}
	if err := json.Unmarshal(text, &corpus); err != nil {
		t.Fatal(err)
	}
	provoked := provoke(t)
	for _, one := range corpus {
		key := fmt.Sprint(one.Key...)
		ours, ok := provoked[key]
		if !ok {
			continue
		}
		delete(provoked, key)
		// Recorded refusals of one code differ in headers: the emulator's must be like one of them.
		var differences []string
		for _, theirs := range one.Samples {
			if theirs.Headers["Retry-After"] == "12" { // ARM counts seconds down.
				theirs.Headers["Retry-After"] = "11"
			}
			differences = append(differences, cmp.Diff(formOf(theirs), refusalForm{
				ours.status, ours.header.Get("Retry-After"), ours.header.Get("X-Ms-Failure-Cause"), shape(ours.body),
			}))
		}
		if !slices.Contains(differences, "") {
			t.Errorf("%s (-ARM, +emulator): %s", key, differences[0])
		}
	}
	for key := range provoked {
		t.Errorf("%s was never recorded", key)
	}
}

// refusalForm is what is compared of a refusal.
type refusalForm struct {
	Status            int
	RetryAfter, Cause string
	Shape             map[string]string
}

func formOf(s sample) refusalForm {
	return refusalForm{s.Status, s.Headers["Retry-After"], s.Headers["X-Ms-Failure-Cause"], shape(parse(s.Body))}
}

// provoke returns refusals of the emulator by method, status and code.
func provoke(t *testing.T) map[string]result {
	t.Helper()
	ip := group + "/providers/Microsoft.Network/publicIPAddresses/ip"
	zone := group + "/providers/Microsoft.Network/privateDnsZones/example.com"
	disk := group + "/providers/Microsoft.Compute/disks/disk"
	w := newWorld(t).withNetwork().ready(ip, located("")).ready(zone, `{"location": "global"}`).ready(zone+"/A/www", `{}`).
		ready(tables+"/t", located("")).ready(tables+"/t/routes/a", `{}`).ready(tables+"/t/routes/b", `{}`).
		ready(nic, located(reference("subnet", subnet)+","+reference("ip", ip)))
	all := map[string]result{
		"DELETE400InUseSubnetCannotBeDeleted":     w.delete(vnet),
		"DELETE400PublicIPAddressCannotBeDeleted": w.delete(ip),
		"DELETE409CannotDeleteResource":           w.delete(zone),
		"DELETE404ResourceGroupNotFound":          w.delete(subscription + "/resourceGroups/no/providers/Microsoft.Test/a/b"),
		"DELETE404ResourceNotFound":               w.delete(networks + "/no/subnets/one"),
		"DELETE404ParentResourceNotFound":         w.delete(group + "/providers/Microsoft.EventGrid/domains/d/topics/t"),
		"GET404ResourceGroupNotFound":             w.get(subscription + "/resourceGroups/no"),
		"GET404ResourceNotFound":                  w.get(networks + "/no"),
		"GET404ParentResourceNotFound":            w.get(group + "/providers/Microsoft.EventGrid/domains/d/topics/t"),
		"PUT404NotFound":                          w.put(disk, located(reference("source", disk+"2"))),
	}
	w.is("a route", w.delete(tables+"/t/routes/a"), http.StatusAccepted)
	all["DELETE429RetryableError"] = w.delete(tables + "/t/routes/b")
	w.is("the interface", w.put(nic, located(reference("subnet", subnet)+","+reference("ip", ip))), http.StatusOK)
	w.is("an address", w.put(ip+"2", located("")), http.StatusCreated)
	all["PUT429RetryableError"] = w.put(nic, located(reference("ip", ip+"2")))
	all["PUT409AnotherOperationInProgress"] = w.put(ip+"2", located(""))
	return all
}
