package security_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/app"
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
	objects, err := app.Objects(app.Options{Enforcement: by}, true)
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

// eachGuard deletes one guard after the other, of all packs and in both modes of
// enforcement, while the operator of start runs, and calls test for each. eachGuard ends with the
// first failure: if no guard is restored, the waits for all guards take longer than go test's limit.
func eachGuard(
	t *testing.T, start func(by pack.Enforcement) *operator.Operator,
	test func(t *testing.T, c client.Client, o *operator.Operator, deleted client.Object),
) {
	t.Helper()
	for _, by := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		o := start(by)
		c := operator.Client(t)
		all := guardsOf(t, c, by)
		if len(all) < 10 {
			t.Errorf("by %s there are %d guards, want those of all packs", by, len(all))
		}
		for _, obj := range all {
			passed := t.Run(fmt.Sprintf("%s/%T %s", by, obj, obj.GetName()), func(t *testing.T) {
				before := obj.DeepCopyObject().(client.Object)
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), before); err != nil {
					t.Fatal(err)
				}
				if err := c.Delete(t.Context(), obj.DeepCopyObject().(client.Object)); err != nil {
					t.Fatal(err)
				}
				test(t, c, o, before)
			})
			if !passed {
				t.Fatal("the other guards are not tried")
			}
		}
		if err := o.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestGuardsDeleted deletes each guard of each pack in turn. Where the operator installs, it
// restores the guard.
func TestGuardsDeleted(t *testing.T) {
	start := func(by pack.Enforcement) *operator.Operator {
		return operator.Start(t, func(o *app.Options) { o.Packs, o.Enforcement = nil, by })
	}
	eachGuard(t, start, func(t *testing.T, c client.Client, _ *operator.Operator, deleted client.Object) {
		t.Helper()
		testenv.EventuallyWithin(t, restoring, func() error {
			if now := uidOf(t, c, deleted); now == "" || now == string(deleted.GetUID()) {
				return fmt.Errorf("the operator has not restored %T %s", deleted, deleted.GetName())
			}
			return nil
		})
	})
}

// TestGuardsMissing deletes each guard in turn where somebody else installs. The operator
// says which is missing until it is there again.
func TestGuardsMissing(t *testing.T) {
	start := func(by pack.Enforcement) *operator.Operator {
		all := func(o *app.Options) { o.Packs, o.Enforcement = nil, by }
		if err := operator.Start(t, all).Stop(); err != nil {
			t.Fatal(err)
		}
		return operator.Start(t, all, func(o *app.Options) { o.Install, o.Adopt = false, false })
	}
	eachGuard(t, start, func(t *testing.T, c client.Client, o *operator.Operator, deleted client.Object) {
		t.Helper()
		count := func(want int) func() error {
			return func() error {
				got := 0.0
				for _, v := range operator.Metrics(t, "kinship_guards_missing") {
					got += v
				}
				if int(got) != want {
					return fmt.Errorf("%v guards are missing, want %d", got, want)
				}
				return nil
			}
		}
		testenv.Eventually(t, count(1))
		if log := o.Log(); !strings.Contains(log, "level=WARN msg=\"Guards are missing\"") ||
			!strings.Contains(log, deleted.GetName()+" missing") {
			t.Errorf("the log does not say that %s is missing", deleted.GetName())
		}
		deleted.SetResourceVersion("")
		deleted.SetUID("")
		testenv.Eventually(t, func() error { return ignoreExists(c.Create(t.Context(), deleted)) })
		testenv.Eventually(t, count(0))
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
	key := client.ObjectKey{Namespace: app.Namespace, Name: "kinship-guards-" + pack}
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

// TestGuardsHoldUp: while a guard is missing, nothing that may have been written meanwhile is
// acted on.
func TestGuardsHoldUp(t *testing.T) {
	iot := func(o *app.Options) { o.Packs = []string{"iot"} }
	if err := operator.Start(t, iot).Stop(); err != nil {
		t.Fatal(err)
	}
	operator.Start(t, iot, func(o *app.Options) { o.Install, o.Adopt = false, false })
	l := newLand(t)
	guards := []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
	}
	for _, guard := range guards {
		guard.SetName("kinship-iot")
		if err := l.c.Get(t.Context(), client.ObjectKeyFromObject(guard), guard); err != nil {
			t.Fatal(err)
		}
		l.delete(guard.DeepCopyObject().(client.Object))
	}
	testenv.Eventually(t, func() error {
		if got := operator.Metrics(t, "kinship_guards_missing", "pack")["iot"]; got != 2 {
			return fmt.Errorf("%v guards are missing, want 2", got)
		}
		return nil
	})
	c := &iotv1alpha1.IotConnector{ObjectMeta: l.named("forged")}
	c.Spec.Containers = []iotv1alpha1.Container{{Type: "Normalization", Image: "none"}}
	testenv.Eventually(t, func() error { return l.c.Create(t.Context(), c) }) // A webhook is asked for a moment longer.
	// The passes that are held up are there: the queue is given out to as many workers.
	testenv.Eventually(t, func() error {
		if got := operator.Metrics(t, "controller_runtime_active_workers", "controller")["iotconnector"]; got != 1 {
			return fmt.Errorf("%v passes are held up, want 1", got)
		}
		return nil
	})
	if err := l.c.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil || len(c.Status.Conditions) > 0 {
		t.Errorf("error %v, the connector was acted on: %v", err, c.Status.Conditions)
	}
	for _, guard := range guards {
		guard.SetResourceVersion("")
		guard.SetUID("")
		l.create(guard)
	}
	testenv.Eventually(t, func() error {
		err := l.c.Get(t.Context(), client.ObjectKeyFromObject(c), c)
		if err == nil && len(c.Status.Conditions) == 0 {
			err = errors.New("the connector is not acted on")
		}
		return err
	})
	l.delete(c)
	l.awaitGone(c)
}
