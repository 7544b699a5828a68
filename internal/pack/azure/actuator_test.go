package azure

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/secret"
)

const (
	tableType = "Microsoft.Network/routeTables"
	inGroup   = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg"
	tableID   = inGroup + "/providers/" + tableType + "/t"
)

// answering returns the actuator at a server of a route table whose owner is no object.
func answering(t *testing.T, handle http.HandlerFunc) (actuator, Input) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	client, err := azure.NewClient(azure.Options{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k := kindOf(t, tableType)
	k.connector = &connector{own: &connection{client: client, subscription: "11111111-2222-3333-4444-555555555555"}}
	obj := external.NewUnstructured(k.GroupVersionKind())
	obj.SetName("t")
	obj.Object["spec"] = parse(t, `{"location":"here","ownerRef":{"azure":{"resourceGroup":"rg"}}}`)
	in := Input{Object: obj}
	return actuator{k.desired(in), client}, in
}

// TestUpdateOfWhatWasRead: a PUT replaces the resource that was read, and no other state of the resource.
func TestUpdateOfWhatWasRead(t *testing.T) {
	var sent []string
	a, in := answering(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.Header.Get("If-Match"))
		_, _ = fmt.Fprint(w, `{"id":"`+tableID+`","etag":"two"}`)
	})
	read := &resource{ID: tableID, Body: map[string]any{}, ETag: "one"}
	if _, err := a.Update(t.Context(), in, read, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"PUT one"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// TestActiveDeployment: the running deployment that refuses another one may create the resource, so the intent of the
// creation is kept.
func TestActiveDeployment(t *testing.T) {
	var sent []string
	a, in := answering(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method)
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprint(w, `{"id":"`+inGroup+`","properties":{"provisioningState":"Succeeded"}}`)
			return
		}
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprint(w, `{"error":{"code":"DeploymentActive","message":"It runs."}}`)
	})
	a.submission, a.object = ByDeployment, in.Object
	_, err := a.Create(t.Context(), in)
	if e, ok := errors.AsType[*external.Error](err); !ok || e.Class != external.Transient {
		t.Errorf("the error is %v", err)
	}
	if want := []string{"GET", "PUT"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// TestSerial: the turns of a network and its children are those of the network. A resource that ARM changes
// independently of others has no turn.
func TestSerial(t *testing.T) {
	const network = inGroup + "/providers/Microsoft.Network/virtualNetworks/net"
	for id, want := range map[string]string{
		network: network, network + "/subnets/front": network, network + "/virtualNetworkPeerings/p": network,
		tableID: tableID, tableID + "/routes/r": tableID, inGroup: "",
		inGroup + "/providers/Microsoft.Network/networkInterfaces/card": "",
		inGroup + "/providers/Microsoft.Storage/storageAccounts/disks":  "",
	} {
		parsed, err := azure.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		k := kindOf(t, parsed.Type())
		k.connector = &connector{own: &connection{}}
		obj := external.NewUnstructured(k.GroupVersionKind())
		obj.GetExternalStatus().ID = &id
		if got := k.serial(Input{Object: obj}); got != strings.ToLower(want) {
			t.Errorf("%s changes in turn at %q, want %q", id, got, want)
		}
	}
}

// TestDeleteDeployment: with a resource goes the deployment that submitted the resource, which may be gone.
func TestDeleteDeployment(t *testing.T) {
	for submission, want := range map[Submission][]string{
		ByPut: {"DELETE " + tableID},
		ByDeployment: {
			"DELETE " + inGroup + "/providers/Microsoft.Resources/deployments/kinship-one", "DELETE " + tableID,
		},
	} {
		var sent []string
		a, in := answering(t, func(w http.ResponseWriter, r *http.Request) {
			sent = append(sent, r.Method+" "+r.URL.Path)
			if r.URL.Path != tableID {
				w.WriteHeader(http.StatusNotFound)
			}
		})
		a.submission = submission
		in.Object.SetUID("one")
		if err := a.Delete(t.Context(), in, tableID); err != nil {
			t.Errorf("%s: %v", submission, err)
		}
		if !slices.Equal(sent, want) {
			t.Errorf("%s: sent %q, want %q", submission, sent, want)
		}
	}
}

// TestLookUpOwner: an owner that is no object is waited for until Azure has made it.
func TestLookUpOwner(t *testing.T) {
	for state, want := range map[string]string{
		"Updating":  "Waiting for " + inGroup + " to be ready in Azure",
		"Succeeded": "",
	} {
		a, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"id":%q,"properties":{"provisioningState":%q}}`, inGroup, state)
		})
		err := a.lookUpOwner(t.Context())
		told, _ := errors.AsType[*external.Error](err)
		if told == nil {
			told = &external.Error{}
		}
		if told.Message != want || want != "" && told.Reason != condition.ReasonWaitingForOwner {
			t.Errorf("%s: %v, want %q", state, err, want)
		}
	}
}

// TestForget: nothing of a Secret that was deleted is kept.
func TestForget(t *testing.T) {
	gone, other := types.NamespacedName{Namespace: "n", Name: "s"}, types.NamespacedName{Namespace: "n", Name: "o"}
	c := &connector{secrets: secret.NewReader(nil)}
	c.known.Store(gone, &connection{})
	c.known.Store(other, &connection{})
	if c.forget(gone); c.known.Get(gone) != nil || c.known.Get(other) == nil {
		t.Errorf("known are %v", maps.Collect(c.known.All()))
	}
}
