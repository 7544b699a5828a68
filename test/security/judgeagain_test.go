package security_test

import (
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// unguarded is a time in which a pack's webhooks are not in force.
type unguarded struct {
	land
	pack   string
	o      *operator.Operator
	guards []client.Object // as they were
}

// begin starts an operator that does not install, and keeps how its guards are.
func begin(t *testing.T, pack string) *unguarded {
	t.Helper()
	u := &unguarded{land: newLand(t), pack: pack}
	if err := operator.Start(t, u.options).Stop(); err != nil {
		t.Fatal(err)
	}
	u.start(false)
	awaitJudged(t, pack)
	return u
}

func (u *unguarded) options(o *options.Options) { o.Packs = []string{u.pack} }

func (u *unguarded) start(installs bool) {
	u.T.Helper()
	u.o = operator.Start(u.T, u.options, func(o *options.Options) { o.Install, o.Adopt = installs, installs })
}

func (u *unguarded) stop() {
	u.T.Helper()
	if err := u.o.Stop(); err != nil {
		u.T.Fatal(err)
	}
}

// each runs a function for both webhook configurations of the pack, as they are.
func (u *unguarded) each(f func(client.Object)) {
	u.T.Helper()
	for _, guard := range []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
	} {
		guard.SetName("kinship-" + u.pack)
		if err := u.C.Get(u.T.Context(), client.ObjectKeyFromObject(guard), guard); err != nil {
			u.T.Fatal(err)
		}
		f(guard)
	}
}

// remove deletes the guards.
func (u *unguarded) remove() {
	u.T.Helper()
	u.guards = nil
	u.each(func(guard client.Object) {
		u.guards = append(u.guards, guard)
		u.Delete(guard.DeepCopyObject().(client.Object))
	})
}

// restore creates them as they were.
func (u *unguarded) restore() {
	u.T.Helper()
	for _, guard := range u.guards {
		guard.SetResourceVersion("")
		guard.SetUID("")
		u.Create(guard)
	}
}

// weaken has the API server call the webhooks in no namespace.
func (u *unguarded) weaken() {
	u.T.Helper()
	u.each(func(guard client.Object) { narrow.of(u.T, u.C, guard) })
}

// strengthen takes weaken back.
func (u *unguarded) strengthen() {
	u.T.Helper()
	u.each(func(guard client.Object) { widen.of(u.T, u.C, guard) })
}

// awaitNoticed waits until the operator says that both guards are missing or altered.
func (u *unguarded) awaitNoticed(state string) {
	u.T.Helper()
	testenv.Eventually(u.T, func() error {
		if got := operator.Metrics(u.T, "kinship_guards_"+state, "pack")[u.pack]; got != 2 {
			return fmt.Errorf("%v guards are %s, want 2", got, state)
		}
		return nil
	})
}

// absences are the ways in which guards come to be without force while something is written.
var absences = []struct {
	name string
	away func(u *unguarded, write func())
}{
	{"deleted", func(u *unguarded, write func()) {
		u.remove()
		u.awaitNoticed("missing")
		write()
		u.restore()
	}},
	{"altered", func(u *unguarded, write func()) {
		u.weaken()
		u.awaitNoticed("altered")
		write()
		u.strengthen()
	}},
	{"deleted, restarted before they are restored", func(u *unguarded, write func()) {
		u.remove()
		u.awaitNoticed("missing")
		write()
		u.stop()
		u.restore()
		u.start(false)
	}},
	{"deleted and restored while no operator ran", func(u *unguarded, write func()) {
		u.stop()
		u.remove()
		write()
		u.restore()
		u.start(false)
	}},
	{"altered and restored while no operator ran", func(u *unguarded, write func()) {
		u.stop()
		u.weaken()
		write()
		u.strengthen()
		u.start(false)
	}},
	{"deleted while no operator ran, installed", func(u *unguarded, write func()) {
		u.stop()
		u.remove()
		write()
		u.start(true)
	}},
}

// TestGuardsJudgeAgain: what somebody wrote while nobody judged it, in the name of an author
// who had the rights, is not believed when the guards are there again.
func TestGuardsJudgeAgain(t *testing.T) {
	for _, absence := range absences {
		passed := t.Run(absence.name, func(t *testing.T) {
			l := begin(t, "usage")
			other := newLand(t)
			used, honest := other.configMap("used"), l.usage("honest")
			honest.Spec.Of = in(other.NS, resource("ConfigMap", "used"))
			other.Create(used)
			l.Create(l.secret("using"), honest)
			l.awaitReady(honest)
			forged := l.usage("forged")
			absence.away(l, func() { l.forge(forged, honest, used) })
			testenv.Eventually(t, func() error {
				if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(forged), forged); err != nil {
					return err
				}
				ready := meta.FindStatusCondition(forged.Status.Conditions, "Ready")
				believed := forged.Annotations[authority] != "" || len(forged.Status.Refused) > 0
				if ready == nil || ready.Reason != "NotGranted" || believed {
					return fmt.Errorf("the forged Usage is believed: %v, %v, %v", forged.Annotations, forged.Status.Refused, ready)
				}
				return nil
			})
			err := l.C.Get(t.Context(), client.ObjectKeyFromObject(honest), honest)
			if err != nil || honest.Annotations[authority] == "" {
				t.Errorf("error %v, the Usage from before has lost its mark", err)
			}
			awaitJudged(t, "usage")
			l.Delete(l.secret("using"))
			l.Gone(honest)
			other.Exists(used)
			if err := l.o.Stop(); err != nil {
				t.Error(err)
			}
		})
		if !passed {
			t.Fatal("the other absences are not tried")
		}
	}
}

// forge writes a Usage with the mark of an author who may reach into another namespace, and
// the record of a deletion that nobody asked for.
func (u *unguarded) forge(forged, honest *protectionv1beta1.Usage, used *corev1.ConfigMap) {
	u.T.Helper()
	tenant := u.user("tenant")
	u.allow(tenant, onUsages, right(usageGroup, "usages/status", "*"))
	forged.Spec = *honest.Spec.DeepCopy()
	forged.Annotations = map[string]string{authority: "author"}
	testenv.Eventually(u.T, func() error {
		forged.ResourceVersion = ""
		return ignoreExists(u.As(tenant).Create(u.T.Context(), forged))
	})
	record := fmt.Sprintf(`{"status":{"refused":[{"target":{"apiVersion":"v1","kind":"ConfigMap","namespace":%q,`+
		`"name":"used","uid":%q},"user":"admin","groups":["system:masters"],"time":%q}]}}`,
		used.Namespace, used.UID, time.Now().UTC().Format(time.RFC3339))
	patch := client.RawPatch(types.MergePatchType, []byte(record))
	testenv.Eventually(u.T, func() error { return u.As(tenant).Status().Patch(u.T.Context(), forged.DeepCopy(), patch) })
}
