package azure_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// process starts an operator that can be killed.
func (w *world) process() *operator.Process {
	w.T.Helper()
	return operator.Exec(w.T, "--azure-endpoint", w.cloud.URL(), "--azure-credential", "none",
		"--azure-subscription", w.subscription, "--azure-submission", string(cmp.Or(w.submission, packazure.ByPut)))
}

// TestKilled: the operator is killed in the middle of the creation, the update and the deletion of
// resources with each style of operation. Another process goes on: each request was sent once.
func TestKilled(t *testing.T) {
	w := killed(t, packazure.ByPut)
	w.noneRefused()
	for call, want := range map[string]int{
		"PUT rg": 1, "PUT vnet": 1, "PUT account": 1, "PUT subnet": 2,
		"DELETE rg": 1, "DELETE vnet": 0, "DELETE account": 1, "DELETE subnet": 1,
	} {
		method, kind, _ := strings.Cut(call, " ")
		if got := w.calls(method, kind); got != want {
			t.Errorf("%s: %d times, want %d", call, got, want)
		}
	}
}

// TestKilledDeploying is TestKilled with deployments, of which none is left. The second process finds the
// deployment of the first one, and waits for its end. The operator deletes deployments that may be gone.
func TestKilledDeploying(t *testing.T) {
	w := killed(t, packazure.ByDeployment)
	w.tolerated = []emulator.Reason{emulator.Absent}
	w.noneRefused()
	if n := w.deployments("PUT"); n != 4 {
		t.Errorf("%d deployments of three creations and an update, want 4", n)
	}
}

// TestLostDeployment: the answer to the PUT of a deployment is lost. The operator finds the deployment, and sends no
// other one.
func TestLostDeployment(t *testing.T) {
	w, finish := newSlowCloud(t)
	w.submission = packazure.ByDeployment
	w.start()
	w.apply(group("rg"))
	w.ready("rg/rg")
	w.cloud.AddFault(emulator.Fault{Method: "PUT", Type: deploymentType, Reset: emulator.AfterExecution})
	w.apply(vnet("net", "rg"))
	testenv.Eventually(t, func() error {
		if w.deployments("GET") == 0 {
			return errors.New("the operator looks for no deployment")
		}
		return nil
	})
	finish()
	w.ready("vnet/net")
	if n := w.deployments("PUT"); n != 1 {
		t.Errorf("%d deployments, want 1", n)
	}
	finish()
	w.noneLeft()
	w.delete("rg/rg")
	w.says("rg/rg", "False Deleting")
	finish()
}

const deploymentType = "Microsoft.Resources/deployments"

// deployments returns the number of requests of a method for deployments.
func (w *world) deployments(method string) int {
	return w.cloud.Calls()[emulator.Call{Method: method, Type: deploymentType}]
}

// newSlowCloud is newCloud with operations that do not end before a call of finish.
func newSlowCloud(t *testing.T) (w *world, finish func()) {
	t.Helper()
	var ahead atomic.Int64 // of the cloud's clock
	w = newCloud(t, emulator.Options{RetryAfter: -1, BuildTime: time.Hour, Clock: func() time.Time {
		return time.Now().Add(time.Duration(ahead.Load()))
	}})
	return w, func() { ahead.Add(int64(2 * time.Hour)) } // A deployment begins, and then its resource.
}

// killed kills operators for TestKilled.
func killed(t *testing.T, submission packazure.Submission) *world {
	t.Helper()
	w, finish := newSlowCloud(t)
	w.submission = submission
	p := w.process()
	w.apply(group("rg"))
	w.ready("rg/rg")
	w.apply(vnet("net", "rg"), manifest("account", "batch", "rg", "location: westeurope"))
	w.says("vnet/net", "Creating")
	w.says("account/batch", "Creating")
	p.Kill()
	p = w.process()
	finish()
	w.ready("vnet/net", "account/batch")
	w.apply(subnet("front", "net"))
	w.says("subnet/front", "Creating")
	finish()
	w.ready("subnet/front")
	finish() // of the deletion of the deployment
	w.edit("subnet/front", `{"spec":{"addressPrefix":"10.0.2.0/24"}}`)
	w.says("subnet/front", "False Updating")
	p.Kill()
	resource, deployment := w.calls("GET", "subnet"), w.deployments("GET")
	p = w.process()
	testenv.Eventually(t, func() error { // The second process looks before the end.
		looked := w.deployments("GET") > deployment || submission == packazure.ByPut
		if !looked || w.calls("GET", "subnet") == resource {
			return errors.New("the operator does not look at the update")
		}
		return nil
	})
	finish()
	w.ready("subnet/front")
	w.delete("account/batch", "subnet/front")
	w.says("account/batch", "False Deleting")
	w.says("subnet/front", "False Deleting")
	p.Kill()
	p = w.process()
	finish()
	w.gone("account/batch", "subnet/front")
	finish()
	w.noneLeft()
	w.delete("rg/rg")
	w.says("rg/rg", "False Deleting")
	p.Kill()
	w.process()
	finish()
	w.gone("rg/rg", "vnet/net")
	w.inCloud()
	return w
}

// TestUpdate: only a difference is sent. The update of a network keeps its subnets, and a removed field
// is removed in Azure too.
func TestUpdate(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"))
	w.ready("subnet/front")
	w.edit("vnet/net", `{"spec":{"resyncPeriod":"1h"}}`)
	w.ready("vnet/net")
	w.edit("vnet/net",
		`{"spec":{"tags":{"team":"blue"},"addressSpace":{"addressPrefixes":["10.0.0.0/16","10.1.0.0/16"]}}}`)
	w.ready("vnet/net")
	if n := w.calls("PUT", "vnet"); n != 2 {
		t.Errorf("%d PUTs of the network, want 2", n)
	}
	w.inCloud("rg", "net", "front")
	w.edit("vnet/net", `{"spec":{"tags":null}}`)
	testenv.Eventually(t, func() error {
		u := w.get("vnet", "net")
		tags, _, _ := unstructured.NestedMap(u.Object, "status", "resource", "tags")
		if len(tags) > 0 || !strings.HasPrefix(readyOf(u), "True") {
			return fmt.Errorf("tags %v, %s", tags, readyOf(u))
		}
		return nil
	})
	w.inCloud("rg", "net", "front")
	w.ready("subnet/front")
}

// TestDrift: what another client changed is corrected, once, and what it deleted is created again.
func TestDrift(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"))
	w.ready("vnet/net")
	id := w.id("vnet/net")
	w.cloud.Change(id, map[string]any{"addressSpace": map[string]any{"addressPrefixes": []any{"10.9.0.0/16"}}})
	w.resetCalls()
	w.edit("vnet/net", `{"spec":{"resyncPeriod":"200ms"}}`)
	testenv.Eventually(t, func() error {
		if puts, gets := w.calls("PUT", "vnet"), w.calls("GET", "vnet"); puts != 1 || gets < 5 {
			return fmt.Errorf("%d PUTs and %d GETs", puts, gets)
		}
		return nil
	})
	w.cloud.Remove(id)
	testenv.Eventually(t, func() error {
		if puts := w.calls("PUT", "vnet"); puts != 2 {
			return fmt.Errorf("%d PUTs, want 2", puts)
		}
		return nil
	})
	w.ready("vnet/net")
	w.inCloud("rg", "net")
}

// TestUpdatingReference: a network interface waits while its subnet is being updated.
func TestUpdatingReference(t *testing.T) {
	w := newCloud(t, emulator.Options{RetryAfter: -1, BuildTime: time.Second})
	w.start()
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"))
	w.ready("subnet/front")
	w.edit("subnet/front", `{"spec":{"addressPrefix":"10.0.2.0/24"}}`)
	w.says("subnet/front", "False Updating")
	w.apply(nic("card", "rg", "{kubernetes: {name: front}}"))
	w.says("nic/card", "False WaitingForReference Waiting for VirtualNetworksSubnet/front to be ready")
	w.ready("nic/card")
}

// TestManyDependents: a group with 200 dependents is deleted with one DELETE, and the dependents, which are gone with
// the group, cost no GET.
func TestManyDependents(t *testing.T) {
	const tables = 200
	w := newPromptWorld(t)
	text := append(make([]string, 0, tables+1), group("rg"))
	names := make([]string, 0, tables)
	for i := range tables {
		name := fmt.Sprintf("t%d", i)
		text = append(text, manifest("table", name, "rg", "location: westeurope"))
		names = append(names, "table/"+name)
	}
	w.apply(text...)
	w.ready(names...)
	if n := w.calls("PUT", "table") + w.calls("GET", "table"); n > 3*tables {
		t.Errorf("%d requests to create %d resources", n, tables)
	}
	w.resetCalls()
	begin := time.Now()
	w.delete("rg/rg")
	w.gone("rg/rg")
	end := time.Now()
	w.gone(names...)
	t.Logf("the group was gone after %s, and all else %s later", end.Sub(begin), time.Since(end))
	if gets, deletes := w.calls("GET", "table"), w.cloud.CallCount("DELETE"); gets != 0 || deletes != 1 {
		t.Errorf("%d GETs of %d tables, want 0; %d DELETEs, want 1", gets, tables, deletes)
	}
	w.inCloud()
}

// TestDeployments: with the option, resources are created and updated by one template deployment each. A text that
// looks like an expression of templates stays a text.
func TestDeployments(t *testing.T) {
	w := newCloud(t, cloudOptions)
	w.submission = packazure.ByDeployment
	w.start()
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"))
	w.ready("vnet/net", "subnet/front")
	w.edit("vnet/net", `{"spec":{"tags":{"text":"[resourceGroup().id]"}}}`)
	testenv.Eventually(t, func() error {
		text, _, _ := unstructured.NestedString(w.get("vnet", "net").Object, "status", "resource", "tags", "text")
		if text != "[resourceGroup().id]" {
			return fmt.Errorf("the tag is %q", text)
		}
		return nil
	})
	w.ready("vnet/net", "subnet/front")
	if n := w.calls("PUT", "vnet") + w.calls("PUT", "subnet"); n != 0 {
		t.Errorf("%d PUTs of resources", n)
	}
	if n := w.deployments("PUT"); n != 3 {
		t.Errorf("%d deployments, want 3", n)
	}
	w.noneLeft()
	w.inCloud("rg", "net", "front")
	w.noneRefused()

	// A deployment that failed does not stay either.
	w.tolerated = []emulator.Reason{emulator.NoReference}
	w.apply(nic("failing", "rg", "{azure: {name: Microsoft.Network/virtualNetworks/net/subnets/none}}"))
	w.says("nic/failing", "DeploymentFailed")
	w.delete("nic/failing")
	w.gone("nic/failing")
	w.noneLeft()
}

// noneLeft waits until the cloud has no deployment: a resource group has 800 at most.
func (w *world) noneLeft() {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		for _, item := range w.cloud.Inventory() {
			if strings.EqualFold(item.Type, deploymentType) {
				return fmt.Errorf("left behind: %s", item.ID)
			}
		}
		return nil
	})
}

// TestRotation: an object goes on with the new credentials of its Secret. Here the new ones are for another
// subscription, where the object's resource would be created.
func TestRotation(t *testing.T) {
	w := newPromptWorld(t)
	elsewhere := "9" + w.subscription[1:]
	if strings.HasPrefix(w.subscription, "9") {
		elsewhere = "8" + w.subscription[1:]
	}
	w.Create(w.principal("login", w.subscription))
	login := func(name string) string {
		return manifest("rg", name, "", "location: westeurope, credentialsRef: {secretName: login}")
	}
	w.apply(login("before"))
	w.ready("rg/before")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "login"}}
	rotate := fmt.Sprintf(`{"stringData":{"AZURE_SUBSCRIPTION_ID":%q}}`, elsewhere)
	if err := w.C.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(rotate))); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { // The pack's cache may have the former version for a moment.
		u := w.get("rg", "before")
		if !strings.Contains(fmt.Sprint(u.Object["status"]), secret.GetResourceVersion()) {
			return fmt.Errorf("the status has not the version %s: %v", secret.GetResourceVersion(), u.Object["status"])
		}
		return nil
	})
	w.apply(login("after"))
	w.ready("rg/after")
	for one, want := range map[string]string{"rg/before": w.subscription, "rg/after": elsewhere} {
		if got := w.id(one).Subscription(); got != want {
			t.Errorf("%s is in the subscription %s, want %s", one, got, want)
		}
	}
}
