package openstack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/test/operator"
)

// all has the operator write Ready and Drifted as well, as --openstack-conditions=all does.
func all(o *options.Options) { o.Openstack.Conditions = openstack.AllConditions }

// TestConditions starts the operator with each choice of conditions after the other. The
// objects that are there get the conditions of the choice at the start, without a call to
// the cloud, and not only with the next comparison ten minutes later.
func TestConditions(t *testing.T) {
	published := []string{"Available", "Progressing"}
	first := operator.Start(t, only)
	w := untidyWorld(t)
	w.apply(managed("Network", "it", "{dnsDomain: example.org.}"),
		managed("Subnet", "sub", "{networkRef: it, ipVersion: 4, cidr: 10.0.0.0/24}"))
	w.available("Network", "it")
	w.available("Subnet", "sub")
	stop(t, first)
	before := w.calls("network")

	second := operator.Start(t, only, all)
	w.conditionTypes("Network", "it", append(published, "Ready"))
	w.has("Network", "it", "Ready", isAvailable)
	w.conditionTypes("Subnet", "sub", append(published, "Ready"))
	if calls := w.calls("network"); calls != before {
		t.Errorf("%d calls to the cloud for conditions that follow from others", calls-before)
	}
	w.changeOutside("it", `{"network":{"dns_domain":"example.com."}}`)
	w.edit("Network", "it", `{"spec":{"resource":{"description":"d"}}}`)
	w.conditionTypes("Network", "it", append(published, "Ready", condition.Drifted))
	w.has("Network", "it", condition.Drifted, want{"True", "Immutable", "OpenStack resource differs in what can't be " +
		`changed: dns_domain is "example.com.", not "example.org.". Correct it there, or delete and create the ` +
		"object to have another made"})
	stop(t, second)

	operator.Start(t, only)
	w.conditionTypes("Network", "it", published)
	w.conditionTypes("Subnet", "sub", published)
	w.drifted("Network", "it", `dns_domain is "example.com.", not "example.org."`)
	w.changeOutside("it", `{"network":{"dns_domain":"example.org."}}`)
	w.edit("Network", "it", `{"spec":{"resource":{"description":"e"}}}`)
	w.drifted("Network", "it")
	w.available("Network", "it")
	w.tidyUp()
	w.empty()
}

func stop(t *testing.T, o *operator.Operator) {
	t.Helper()
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
}

// conditionTypes waits until an object has these conditions, in this order and no others.
func (w *world) conditionTypes(kind, name string, types []string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if diff := cmp.Diff(types, conditionTypes(w.get(kind, name))); diff != "" {
			return fmt.Errorf("conditions of %s/%s (-want +got):\n%s", kind, name, diff)
		}
		return nil
	})
}

// changeOutside changes the network of an object in the cloud.
func (w *world) changeOutside(name, body string) {
	w.t.Helper()
	c := w.admin()
	address := c.ServiceURL("networks", w.id("Network", name))
	err := kit.Call(w.t.Context(), c, http.MethodPut, address, json.RawMessage(body), nil)
	if err != nil {
		w.t.Fatal(errors.Join(errors.New("change the network"), err))
	}
}
