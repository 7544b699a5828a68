package openstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

var markTests = map[string]func(*testing.T){
	"FloatingIP that still has its mark":  testMarkUnseen,
	"FloatingIP whose text is no mark":    testMarkLike,
	"SecurityGroup with rules of Neutron": testDefaultRulesUnseen,
}

// publicNet is where floating IPs are from.
var publicNet = []string{
	managed("Network", "outside", "{external: true}"),
	managed("Subnet", "sub-out", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"),
}

// testMarkUnseen: a floating IP keeps the mark of its POST as description for a while: no
// status shows the mark, and no import takes the floating IP before the description is that of
// the spec.
func testMarkUnseen(t *testing.T) {
	w := newWorld(t)
	w.apply(publicNet...)
	w.available("Subnet", "sub-out")
	w.cloud.AddFault(emulator.Fault{
		Service: "network", Method: http.MethodPut, Resource: "floatingips", Status: http.StatusServiceUnavailable, Times: -1,
	})
	changes := w.watch("FloatingIP")
	defer changes.Stop()
	w.apply(managed("FloatingIP", "it", "{floatingNetworkRef: outside, description: text}"))
	w.fails("FloatingIP", "it", "TransientError")
	id, uid := w.id("FloatingIP", "it"), w.get("FloatingIP", "it").GetUID()
	mark := fmt.Sprintf("kinship-uid %s", uid)
	if text := w.description(id); text != mark {
		t.Fatalf("the description is %q", text)
	}
	for name, filter := range map[string]string{
		"by-mark": fmt.Sprintf("{description: %q}", mark), "by-text": "{description: text}", "by-network": "{floatingNetworkRef: outside}",
	} {
		w.apply(imported("FloatingIP", name, "{filter: "+filter+"}"))
		w.has("FloatingIP", name, "Progressing",
			want{"True", "Progressing", "Waiting for OpenStack resource to be created externally"})
	}
	w.apply(imported("FloatingIP", "by-id", "{id: "+id+"}"))
	w.says("FloatingIP", "by-id", fmt.Sprintf(
		"Waiting for OpenStack resource %s to be completed by the object with uid %s, which creates it", id, uid))
	w.cloud.ClearFaults()
	all := map[string]bool{"it": true, "by-text": true, "by-network": true, "by-id": true}
	for name := range all {
		w.available("FloatingIP", name)
		if got := w.id("FloatingIP", name); got != id {
			t.Errorf("%s has %s, want %s", name, got, id)
		}
	}
	for event := range changes.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("watched: %v", event.Object)
		}
		text, _, _ := unstructured.NestedString(u.Object, "status", "resource", "description")
		if strings.Contains(text, "kinship") {
			t.Errorf("%s has shown %q", u.GetName(), text)
		}
		if c, _ := find(u, "Available"); c == isAvailable && text == "text" {
			delete(all, u.GetName())
		}
		if len(all) == 0 {
			return
		}
	}
	t.Errorf("never seen with their description: %v", all)
}

// testDefaultRulesUnseen has Neutron refuse for a while that the rules are deleted which Neutron
// itself gives every new security group. No import shows those rules: an import waits until the
// SecurityGroup that creates the group has corrected the rules.
func testDefaultRulesUnseen(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{
		Service: "network", Method: http.MethodDelete, Resource: "security-group-rules",
		Status: http.StatusServiceUnavailable, Times: -1,
	})
	changes := w.watch("SecurityGroup")
	defer changes.Stop()
	w.apply(managed("SecurityGroup", "it", "{}"))
	w.fails("SecurityGroup", "it", "TransientError")
	id, uid := w.id("SecurityGroup", "it"), w.get("SecurityGroup", "it").GetUID()
	w.apply(imported("SecurityGroup", "by-name", "{filter: {name: it}}"), imported("SecurityGroup", "by-id", "{id: "+id+"}"))
	w.has("SecurityGroup", "by-name", "Progressing",
		want{"True", "Progressing", "Waiting for OpenStack resource to be created externally"})
	w.says("SecurityGroup", "by-id", fmt.Sprintf(
		"Waiting for OpenStack resource %s to be completed by the object with uid %s, which creates it", id, uid))
	w.cloud.ClearFaults()
	all := map[string]bool{"it": true, "by-name": true, "by-id": true}
	for name := range all {
		w.available("SecurityGroup", name)
	}
	for event := range changes.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("watched: %v", event.Object)
		}
		rules, _, _ := unstructured.NestedSlice(u.Object, "status", "resource", "rules")
		if len(rules) > 0 && u.GetName() != "it" {
			t.Errorf("%s has shown %v", u.GetName(), rules)
		}
		if c, _ := find(u, "Available"); c == isAvailable {
			delete(all, u.GetName())
		}
		if len(all) == 0 {
			return
		}
	}
}

// description returns the description of a floating IP in the cloud.
func (w *world) description(id string) string {
	w.t.Helper()
	c, address := w.address("network/floatingips", id)
	var answer struct {
		FloatingIP struct {
			Description string `json:"description"`
		} `json:"floatingip"`
	}
	if err := kit.Call(w.t.Context(), c, http.MethodGet, address, nil, &answer); err != nil {
		w.t.Fatal(err)
	}
	return answer.FloatingIP.Description
}

// testMarkLike: a text of a user that begins like a mark is shown, and imported.
func testMarkLike(t *testing.T) {
	w := newWorld(t)
	const text = "kinship-uid of the office"
	w.apply(publicNet...)
	w.available("Subnet", "sub-out")
	w.apply(managed("FloatingIP", "it", fmt.Sprintf("{floatingNetworkRef: outside, description: %q}", text)))
	w.available("FloatingIP", "it")
	w.apply(imported("FloatingIP", "import", fmt.Sprintf("{filter: {description: %q}}", text)))
	w.available("FloatingIP", "import")
	w.reports("FloatingIP", "import", map[string]any{"description": text})
}
