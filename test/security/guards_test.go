package security_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// restoring is how long an operator with --install may take to restore a guard.
const restoring = 30 * time.Second

// guardsOf returns all guards that are installed: whatever of an installation has the API
// server refuse or change requests.
func guardsOf(t *testing.T, c client.Client, by pack.Enforcement) []client.Object {
	t.Helper()
	objects, err := install.Objects(options.Options{Enforcement: by}, true)
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	for _, obj := range objects {
		gvk, err := c.GroupVersionKindFor(obj)
		if err != nil {
			t.Fatal(err)
		}
		if gvk.Group == admissionregistrationv1.GroupName {
			all = append(all, obj)
		}
	}
	return all
}

// uidOf returns which object of a name there is, and nothing if there is none.
func uidOf(t *testing.T, c client.Client, obj client.Object) string {
	t.Helper()
	live := obj.DeepCopyObject().(client.Object)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), live); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return string(live.GetUID())
}

// contentOf returns a guard as it is now, without its metadata.
func contentOf(t *testing.T, c client.Client, guard client.Object) map[string]any {
	t.Helper()
	live := guard.DeepCopyObject().(client.Object)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(guard), live); err != nil {
		t.Fatal(err)
	}
	return contentIn(t, live)
}

func contentIn(t *testing.T, guard client.Object) map[string]any {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(guard)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(content, other)
	}
	return content
}

// popRules removes the rules of webhooks from a guard's content, and returns those of ConfigMaps. The
// rules of other kinds follow Usages of earlier tests, which may end at any moment.
func popRules(content map[string]any) (rules []any) {
	webhooks, _ := content["webhooks"].([]any)
	for _, w := range webhooks {
		webhook := w.(map[string]any)
		all, _ := webhook["rules"].([]any)
		delete(webhook, "rules")
		for _, rule := range all {
			if strings.Contains(fmt.Sprint(rule), "configmaps") || webhook["name"] != "nousages.protection.crossplane.io" {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// guarded is an operator of all packs, with its guards in one mode of enforcement.
type guarded struct {
	c  client.Client
	o  *operator.Operator
	by pack.Enforcement
}

// eachEnforcement runs tests one after the other with one operator of all packs, in both modes of
// enforcement. Where somebody else installs, the operator does not.
func eachEnforcement(t *testing.T, installs bool, tests ...func(t *testing.T, g guarded)) {
	t.Helper()
	for _, by := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		all := func(o *options.Options) { o.Packs, o.Enforcement = nil, by }
		o := operator.Start(t, all)
		if !installs {
			if err := o.Stop(); err != nil {
				t.Fatal(err)
			}
			o = operator.Start(t, all, func(o *options.Options) { o.Install, o.Adopt = false, false })
		}
		for _, test := range tests {
			test(t, guarded{operator.Client(t), o, by})
		}
		if err := o.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestGuardsRestored: where the operator installs, it restores guards.
func TestGuardsRestored(t *testing.T) { eachEnforcement(t, true, testGuardsDeleted, testGuardsAltered) }

// TestGuardsOff: where somebody else installs, the operator says which guards are missing or altered.
func TestGuardsOff(t *testing.T) { eachEnforcement(t, false, testGuardsMissing, testGuardsWeak) }

// each deletes one guard after the other, of all packs, and calls test for each. It ends with the
// first failure: if no guard is restored, the waits for all guards take longer than go test's limit.
func (g guarded) each(t *testing.T, test func(t *testing.T, deleted client.Object)) {
	t.Helper()
	all := guardsOf(t, g.c, g.by)
	if len(all) < 10 {
		t.Errorf("by %s there are %d guards, want those of all packs", g.by, len(all))
	}
	for _, obj := range all {
		passed := t.Run(fmt.Sprintf("%s/%T %s", g.by, obj, obj.GetName()), func(t *testing.T) {
			before := obj.DeepCopyObject().(client.Object)
			if err := g.c.Get(t.Context(), client.ObjectKeyFromObject(obj), before); err != nil {
				t.Fatal(err)
			}
			if err := g.c.Delete(t.Context(), obj.DeepCopyObject().(client.Object)); err != nil {
				t.Fatal(err)
			}
			test(t, before)
		})
		if !passed {
			t.Fatal("the other guards are not tried")
		}
	}
}

// testGuardsDeleted deletes each guard of each pack in turn. The operator restores the guard.
func testGuardsDeleted(t *testing.T, g guarded) {
	t.Helper()
	if g.by == pack.ByWebhook {
		l := newLand(t)
		l.Create(l.configMap("used"), l.secret("using"))
		u := l.usage("kept") // Its kind is in the rules of a webhook.
		l.Create(u)
		l.awaitReady(u)
		defer func() {
			l.Delete(u)
			l.Gone(u)
		}()
	}
	g.each(t, func(t *testing.T, deleted client.Object) {
		t.Helper()
		before := contentIn(t, deleted)
		kept := popRules(before)
		testenv.EventuallyWithin(t, restoring, func() error {
			if now := uidOf(t, g.c, deleted); now == "" || now == string(deleted.GetUID()) {
				return fmt.Errorf("the operator has not restored %T %s", deleted, deleted.GetName())
			}
			now := contentOf(t, g.c, deleted)
			rules := popRules(now)
			if diff := cmp.Diff(now, before); diff != "" {
				return fmt.Errorf("the restored %T %s is another one (-now +before):\n%s", deleted, deleted.GetName(), diff)
			}
			if diff := cmp.Diff(rules, kept); diff != "" {
				return fmt.Errorf("the restored %T %s has other rules (-now +before):\n%s", deleted, deleted.GetName(), diff)
			}
			return nil
		})
	})
}

// count returns nil if the operator says so many guards are missing, or altered.
func (g guarded) count(t *testing.T, state string, want int) func() error {
	t.Helper()
	return func() error {
		got := 0.0
		for _, v := range operator.Metrics(t, "kinship_guards_"+state) {
			got += v
		}
		if int(got) != want {
			return fmt.Errorf("%v guards are %s, want %d", got, state, want)
		}
		return nil
	}
}

// testGuardsMissing deletes each guard in turn. The operator says which guard is missing until the
// guard is there again.
func testGuardsMissing(t *testing.T, g guarded) {
	t.Helper()
	g.each(t, func(t *testing.T, deleted client.Object) {
		t.Helper()
		testenv.Eventually(t, g.count(t, "missing", 1))
		if log := g.o.Log(); !strings.Contains(log, "level=WARN msg=\"Protection is off\"") ||
			!strings.Contains(log, deleted.GetName()+" missing") {
			t.Errorf("the log does not say that %s is missing", deleted.GetName())
		}
		deleted.SetResourceVersion("")
		deleted.SetUID("")
		testenv.Eventually(t, func() error { return ignoreExists(g.c.Create(t.Context(), deleted)) })
		testenv.Eventually(t, g.count(t, "missing", 0))
	})
}

// awaitJudged waits until a pack has judged again what was written while guards were missing,
// also in earlier tests.
func awaitJudged(t *testing.T, pack string) {
	t.Helper()
	testenv.Eventually(t, func() error {
		if since := recorded(t, pack)["since"]; since != nil {
			return fmt.Errorf("what was written since %s is not judged again", since)
		}
		return nil
	})
}

// recorded returns what the operator has recorded of a pack's guards.
func recorded(t *testing.T, pack string) map[string]any {
	t.Helper()
	lease, record := &coordinationv1.Lease{}, map[string]any{}
	key := client.ObjectKey{Namespace: options.Namespace, Name: "kinship-guards-" + pack}
	if err := operator.Client(t).Get(t.Context(), key, lease); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lease.Annotations["kinship.dev/guards"]), &record); err != nil {
		t.Fatal(err)
	}
	return record
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// unjudged are an object of each pack that an author writes while guards are missing, and the
// controller that would act on the object.
var unjudged = map[string]struct {
	controller string
	object     func(l land) client.Object
}{
	"iot": {"iotconnector", land.clinic},
	"openstack": {"openstack.k-orc.cloud/network", func(l land) client.Object {
		return l.outside("Network", "forged", resources["Network"])
	}},
	"oam": {"core.oam.dev/containerizedworkload", func(l land) client.Object {
		w := &oamv1alpha2.ContainerizedWorkload{ObjectMeta: l.named("forged")}
		w.Spec.Containers = []oamv1alpha2.Container{{Name: "a", Image: "none"}}
		return w
	}},
	"usage": {"usage", func(l land) client.Object { return l.usage("forged") }},
	"azure": {"azure.kinship.dev/kinds", func(l land) client.Object {
		l.enableGroups()
		return l.group("forged")
	}},
}

// TestGuardsHoldUp: while a guard of a pack is missing, the pack does not act on an object that was
// written meanwhile.
func TestGuardsHoldUp(t *testing.T) {
	for _, name := range options.PackNames() {
		t.Run(name, func(t *testing.T) { holdsUp(t, name) })
	}
}

func holdsUp(t *testing.T, name string) {
	t.Helper()
	only := func(o *options.Options) { o.Packs = []string{name} }
	if err := operator.Start(t, only).Stop(); err != nil {
		t.Fatal(err)
	}
	o := operator.Start(t, only, func(o *options.Options) { o.Install, o.Adopt = false, false })
	l := newLand(t)
	var guards []client.Object
	for _, guard := range guardsOf(t, l.C, pack.ByWebhook) {
		if !strings.HasPrefix(guard.GetName(), "kinship-"+name) {
			continue
		}
		if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(guard), guard); err != nil {
			t.Fatal(err)
		}
		guards = append(guards, guard)
		l.Delete(guard.DeepCopyObject().(client.Object))
	}
	testenv.Eventually(t, func() error {
		if got := operator.Metrics(t, "kinship_guards_missing", "pack")[name]; int(got) != len(guards) || got == 0 {
			return fmt.Errorf("%v guards are missing, want %d", got, len(guards))
		}
		return nil
	})
	held := func() float64 {
		return operator.Metrics(t, "controller_runtime_active_workers", "controller")[unjudged[name].controller]
	}
	before := held() // Objects of earlier tests may be there.
	forged := unjudged[name].object(l)
	testenv.Eventually(t, func() error { // A webhook is asked for a moment longer.
		return l.C.Create(t.Context(), forged.DeepCopyObject().(client.Object))
	})
	// The passes that are held up are there: the queue is given out to as many workers.
	testenv.Eventually(t, func() error {
		if n := held(); n <= before {
			return fmt.Errorf("%v passes are held up, %v were before", n, before)
		}
		return nil
	})
	if got := l.conditionsOf(forged); len(got) > 0 {
		t.Errorf("the object was acted on: %v", got)
	}
	for _, guard := range guards {
		guard.SetResourceVersion("")
		guard.SetUID("")
		l.Create(guard)
	}
	testenv.Eventually(t, func() error {
		if len(l.conditionsOf(forged)) == 0 {
			return errors.New("the object is not acted on")
		}
		return nil
	})
	l.Delete(forged)
	l.Gone(forged)
	if err := o.Stop(); err != nil {
		t.Error(err)
	}
}

// conditionsOf returns the status.conditions of an object.
func (l land) conditionsOf(obj client.Object) []any {
	l.T.Helper()
	u := &unstructured.Unstructured{}
	gvk, err := l.C.GroupVersionKindFor(obj)
	if err != nil {
		l.T.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(obj), u); err != nil {
		l.T.Fatal(err)
	}
	conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	if err != nil {
		l.T.Fatal(err)
	}
	return conditions
}
