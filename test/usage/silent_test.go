package usage_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// silence registers an APIService for the group whose server does not exist, as if an
// aggregated API server were down. Discovery then fails for the group, until speak.
func (k custom) silence() (speak func()) {
	k.w.T.Helper()
	service := k.apiService()
	k.w.Update(service, func() {
		service.SetLabels(nil) // The APIService of a CustomResourceDefinition.
		spec := service.Object["spec"].(map[string]any)
		spec["service"] = map[string]any{"namespace": k.w.NS, "name": "none", "port": int64(443)}
		spec["insecureSkipTLSVerify"] = true
	})
	k.w.T.Cleanup(func() { k.speak() }) // Before anything of the group is deleted.
	disc := k.discovery()
	testenv.Eventually(k.w.T, func() error {
		_, _, err := disc.ServerGroupsAndResourcesWithContext(k.w.T.Context())
		failed, _ := discovery.GroupDiscoveryFailedErrorGroups(err)
		if failed[schema.GroupVersion{Group: k.group, Version: "v1"}] == nil {
			return fmt.Errorf("group %s is still known: %w", k.group, err)
		}
		return nil
	})
	return k.speak
}

// speak makes the API server serve the group again: the API server creates the APIService anew.
func (k custom) speak() {
	k.w.T.Helper()
	ctx, service := k.w.cleanupContext(), k.apiService()
	if err := k.w.C.Delete(ctx, service); client.IgnoreNotFound(err) != nil {
		k.w.T.Fatal(err)
	}
	testenv.Eventually(k.w.T, func() error {
		objects := &unstructured.UnstructuredList{}
		objects.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: "v1", Kind: k.kind + "List"})
		return k.w.C.List(ctx, objects)
	})
}

func (k custom) apiService() *unstructured.Unstructured {
	return unstructuredOf("apiregistration.k8s.io/v1", "APIService", "v1."+k.group)
}

func (k custom) discovery() discovery.DiscoveryInterfaceWithContext {
	k.w.T.Helper()
	disc, err := discovery.NewDiscoveryClientForConfig(testenv.Config(k.w.T))
	if err != nil {
		k.w.T.Fatal(err)
	}
	return disc
}

// discovered waits until the operator has repeated discovery.
func (w *world) discovered() {
	w.T.Helper()
	k := custom{w, w.NS + ".sign", "Sign"}
	u := protects("sign", k.end("x"), "nothing but to wait for")
	w.create(u)
	w.unready(u, "KindNotFound")
	k.install()
	w.T.Cleanup(func() { w.tidyUpCluster(k.definition()) })
	w.unready(u, "UsedNotFound")
}

// testGroupSilent: the discovery of a group fails for a while. This does not mean that its
// kinds are gone: all objects stay protected.
func testGroupSilent(t *testing.T) {
	w := newWorld(t)
	k := w.define("Silent")
	cm, x := configMap("cm"), k.object("x")
	w.create(cm, x)
	using, used := uses("using", k.end("x"), named("cm")), replaying(protects("used", k.end("x"), "precious"))
	w.create(using, used)
	w.ready(using, used)
	w.refused(x)
	speak := k.silence()
	w.discovered()
	w.refused(cm)
	if err := w.C.Delete(t.Context(), x); !apierrors.IsServiceUnavailable(err) {
		t.Fatalf("group %s is not silent, deletion of x is answered with %v", k.group, err)
	}
	w.locked(cm)
	w.ready(using, used)
	speak()
	w.locked(x)
	w.refused(x)
	w.refused(cm)
	if n := len(w.events(used, "ReplayDeletion")); n > 0 {
		t.Errorf("the operator deleted x %d times, which is in use", n)
	}
}

// testSilentUsageDeleted: a deleted Usage waits for its using object even while the using
// object's group does not answer.
func testSilentUsageDeleted(t *testing.T) {
	w := newWorld(t)
	k := w.define("Mute")
	cm, x := configMap("cm"), k.object("x")
	w.create(cm, x)
	u := composed(uses("u", k.end("x"), named("cm")))
	w.create(u)
	w.ready(u)
	speak := k.silence()
	w.discovered()
	if err := w.C.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	w.unready(u, "WaitingUsingDeleted")
	w.refused(cm)
	speak()
	w.refused(cm)
	w.Delete(x)
	w.Gone(u)
	w.free(cm)
}

// TestStartSilent starts an operator that has never known the kinds of a group that does not
// answer now.
func TestStartSilent(t *testing.T) {
	first := operator.Start(t)
	w := newWorld(t)
	k := w.define("Secretive")
	cm, x := configMap("cm"), k.object("x")
	w.create(cm, x)
	using, used := uses("using", k.end("x"), named("cm")), protects("used", k.end("x"), "precious")
	w.create(using, used)
	w.ready(using, used)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	speak := k.silence()
	second := operator.Start(t, func(o *options.Options) { o.Usage.GracePeriod = grace })
	if message := w.unready(using, "Reading"); message == "" {
		t.Error("the condition does not say what the Usage waits for")
	}
	w.awaitProcessed()
	w.refused(cm)
	w.locked(cm)
	k.toldBriefly(second)
	speak()
	w.refused(x)
	w.ready(using, used)
	k.toldBriefly(second)
	w.refused(x)
	w.refused(cm)
	w.Delete(used) // While this operator still runs.
	w.Gone(used)
	w.Delete(x)
	w.Gone(using)
	w.free(cm, w.namespace(), k.definition())
}

// atMostLines is how many lines of the log may be about a group that stays silent.
const atMostLines = 20

// toldBriefly expects a few lines about the group in the operator's log, not one line for each
// attempt.
func (k custom) toldBriefly(o *operator.Operator) {
	k.w.T.Helper()
	if n := strings.Count(o.Log(), k.group); n > atMostLines {
		k.w.T.Errorf("the log names group %s %d times, want at most %d", k.group, n, atMostLines)
	}
}
