package emulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/shareddata"
)

// TestExclusive: the client and the cloud have the same types of which one resource at a time is changed.
func TestExclusive(t *testing.T) {
	var refused []string
	for _, row := range Observed() {
		if row.Exclusive != Shared {
			refused = append(refused, row.Name)
		}
	}
	slices.Sort(refused)
	if known := slices.Sorted(slices.Values(azure.ExclusiveTypes())); !slices.Equal(known, refused) {
		t.Errorf("the cloud refuses changes at once of %v, and the client knows %v", refused, known)
	}
}

// TestAllTypes puts, reads and deletes a resource of each type that a list of ARM's types has, with its owners.
func TestAllTypes(t *testing.T) {
	text, err := os.ReadFile(shareddata.Path(t, "arm-schemas-all/types.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string // type, version, file, scope, definition
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	scopes := map[string]string{
		"resourceDefinitions": group, "extension_resourceDefinitions": vnet, "unknown_resourceDefinitions": group,
		"subscription_resourceDefinitions": subscription, "tenant_resourceDefinitions": "/",
		"managementGroup_resourceDefinitions": "/providers/Microsoft.Management/managementGroups/mg",
	}
	w := newWorld(t).ready(group, located("")).ready(vnet, located(""))
	usable := 0
	for _, row := range rows {
		if w.isUsable(row[0], cmp.Or(scopes[row[3]], group)) {
			usable++
		}
	}
	if usable != len(rows) || usable == 0 {
		t.Errorf("%d of %d types are usable", usable, len(rows))
	}
}

// isUsable puts a resource of a type with its owners in a scope, and deletes them.
func (w *world) isUsable(typ, scope string) bool {
	w.t.Helper()
	owner := azure.ID{}
	if scope != "/" {
		owner = id(w.t, scope)
	}
	parts := strings.Split(typ, "/")
	var all []azure.ID
	for i := 2; i <= len(parts); i++ {
		name := "it"
		if strings.EqualFold(parts[i-1], "subscriptions") {
			name = "00000000-0000-0000-0000-000000000002"
		}
		next, err := owner.Child(strings.Join(parts[:i], "/"), name)
		if err != nil {
			w.t.Errorf("%s: %v", typ, err)
			return false
		}
		owner, all = next, append(all, next)
	}
	for _, one := range all {
		body := located("")
		if isDeployment(one) {
			body = template(`[` + symbolic("Microsoft.Test/things", "a", "") + `]`)
		}
		r := w.put(one.String(), body)
		if isPlace(one) {
			continue
		}
		if r.status >= http.StatusBadRequest {
			w.t.Errorf("PUT %s: %d %s", one, r.status, r.code())
			return false
		}
		r = w.settle().get(one.String())
		if r.status != http.StatusOK || (r.state() != "Succeeded" && r.state() != "") {
			w.t.Errorf("GET %s: %d %s", one, r.status, r.state())
			return false
		}
	}
	for i := range all {
		one := all[len(all)-1-i]
		if isPlace(one) {
			continue
		}
		w.delete(one.String())
		if r := w.settle().get(one.String()); r.status != http.StatusNotFound {
			w.t.Errorf("after the DELETE, GET %s: %d", one, r.status)
			return false
		}
	}
	return true
}
