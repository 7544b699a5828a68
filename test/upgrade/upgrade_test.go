package upgrade_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestMatrix replaces the older operator by this one, and goes back, while clients try to delete
// protected objects. Each operator leaves the objects of the other as they are, serves new objects, and
// acts on changes of old ones.
func TestMatrix(t *testing.T) {
	w := newWorld(t)
	running := w.older()
	w.populate()
	stop := w.attack()
	for i, start := range []func() *operator.Process{w.newer, w.older} {
		what := []string{"upgrade", "rollback"}[i]
		written := w.countWrites()
		before := w.objects()
		running = w.replace(running, start)
		w.welcome(what)
		written(what)
		w.unwritten(what, before)
		w.change(what)
		// What follows from the changes is left out.
		w.unwritten(what+", after changes", before, "/internal", "/shop", "/hospital", "/website", "ConfigMap", "Secret")
	}
	stop()
}

const newcomers = `
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata: {name: new-%[1]s}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack}, resource: {}}
---
apiVersion: microsoft.resources.infra.azure.com/v20180501
kind: ResourceGroup
metadata: {name: new-%[1]s}
spec: {location: westeurope}
`

// welcome creates new objects, which the operator serves after those that exist already.
func (w *world) welcome(what string) {
	w.t.Helper()
	for _, u := range testenv.Apply(w.t, fmt.Sprintf(newcomers, what), testenv.In(stories), olderWarns) {
		w.settled(u)
	}
	w.protect("new-" + what)
	w.release("new-" + what)
}

// settled waits until an object is as its present generation says.
func (w *world) settled(u *unstructured.Unstructured) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if err := isSettled(u); err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
		}
		return nil
	})
}

// identities are the client ids that change gives to an IotConnector.
var identities = map[string]string{
	"upgrade":  "5f0c2b9e-6a0f-4a3b-9c56-0d6a1b8f7e22",
	"rollback": "5f0c2b9e-6a0f-4a3b-9c56-0d6a1b8f7e23",
}

// change changes objects of the examples, one of each pack, and waits for what the pack makes of the
// change. %s is the text of the change.
func (w *world) change(what string) {
	w.t.Helper()
	for _, one := range []struct{ key, patch string }{
		{"Network.openstack.k-orc.cloud/internal", `{"spec":{"resource":{"description":"%s"}}}`},
		{"ResourceGroup.microsoft.resources.infra.azure.com/shop", `{"spec":{"tags":{"turn":"%s"}}}`},
		{"IotConnector.services.azurehealthcareapis.com/hospital", `{"spec":{"serviceIdentity":{"clientId":"` +
			identities[what] + `"}}}`},
		{
			"Component.core.oam.dev/website",
			`{"spec":{"workload":{"spec":{"containers":[{"name":"web","image":"nginx","args":["%s"]}]}}}}`,
		},
	} {
		u := w.objects()[one.key]
		if u == nil {
			w.t.Fatalf("there is no %s", one.key)
		}
		patch := strings.ReplaceAll(one.patch, "%s", what)
		if err := w.c.Patch(w.t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			w.t.Fatalf("%s: change %s: %v", what, one.key, err)
		}
		if u.GetKind() != "Component" {
			w.settled(u)
		}
	}
	testenv.Eventually(w.t, func() error {
		website := w.objects()["Deployment.apps/website"]
		containers, _, _ := unstructured.NestedSlice(website.Object, "spec", "template", "spec", "containers")
		if text := fmt.Sprint(containers); !strings.Contains(text, "args:["+what+"]") {
			return fmt.Errorf("the Deployment of the component has the containers %s", text)
		}
		return nil
	})
}
