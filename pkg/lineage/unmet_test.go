package lineage_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const tieGuard = "test.kinship.dev/tie"

// needing returns the relations of Ties to other Ties: spec.needs with a finalizer, spec.once
// with Relation.Once, spec.later with Relation.Later; and to Secrets in spec.secrets.
func needing() []relation.Relation {
	rule := func(field, guard string, target schema.GroupKind) relation.Relation {
		return relation.Relation{
			Name: field, Role: relation.Dependency, Declarer: tieKind, Finalizer: guard,
			Once: field == "once", Later: field == "later", Extract: namesIn(field, relation.Dependency, target),
		}
	}
	return []relation.Relation{
		rule("needs", tieGuard, tieKind), rule("once", "", tieKind), rule("later", "", tieKind),
		rule("secrets", tieGuard, schema.GroupKind{Kind: "Secret"}),
	}
}

// owned returns needing, and the relations of Ties to their owners in spec.in, and to objects of a kind that the
// cluster does not serve in spec.absent.
func owned() []relation.Relation {
	absent := schema.GroupKind{Group: "example.com", Kind: "Absent"}
	return append(needing(), relation.Relation{
		Name: "in", Role: relation.Owner, Declarer: tieKind, Target: tieKind,
		Extract: namesIn("in", relation.Owner, tieKind),
	}, relation.Relation{
		Name: "absent", Role: relation.Dependency, Declarer: tieKind, Target: absent,
		Extract: namesIn("absent", relation.Dependency, absent),
	})
}

var tieKind = schema.GroupKind{Group: "test.kinship.dev", Kind: "Tie"}

// namesIn returns a Relation.Extract for a list of names in a field of spec.
func namesIn(
	field string, role relation.Role, target schema.GroupKind,
) func(client.Object, relation.Kinds) []relation.Edge {
	return func(obj client.Object, _ relation.Kinds) []relation.Edge {
		u := obj.(*unstructured.Unstructured)
		names, _, _ := unstructured.NestedStringSlice(u.Object, "spec", field)
		edges := make([]relation.Edge, 0, len(names))
		for _, name := range names {
			id := object.ID{Group: target.Group, Kind: target.Kind, Namespace: u.GetNamespace(), Name: name}
			edges = append(edges, relation.Edge{
				Role: role, Declarer: object.Of(u, tieKind),
				Source: relation.Named(object.Of(u, tieKind)), Target: relation.Named(id), Field: "spec." + field,
			})
		}
		return edges
	}
}

// tie is a Tie with the report of its controller.
type tie struct {
	name, spec string
	// says is the message of the conditions that are not True; empty means no such condition,
	// and "-" no report yet.
	says string
	// available says that the Tie can be used in spite of says.
	available bool
	meta      string
}

func applyTies(t *testing.T, ns string, ties ...tie) {
	t.Helper()
	for _, d := range ties {
		obj := held(t, ns, fmt.Sprintf(`
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: %s%s}
spec: {%s}
`, d.name, d.meta, d.spec))[0]
		if d.says == "-" {
			continue
		}
		status := func(good bool) string {
			if good {
				return "True"
			}
			return "False"
		}
		patch := fmt.Sprintf(`{"status":{"conditions":[
  {"type":"Available","status":%q,"reason":"R","message":"%[3]s","observedGeneration":1},
  {"type":"Ready","status":%[2]q,"reason":"R","message":"%[3]s","observedGeneration":1}]}}`,
			status(d.says == "" || d.available), status(d.says == ""), d.says)
		err := testenv.Client(t, nil).Status().Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch)))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// whyTie explains a Tie, with the namespace and group left out.
func whyTie(t *testing.T, ns, name string) (findings []string, next string) {
	t.Helper()
	cluster := look(t, testenv.Config(t), func(o *lineage.Options) { o.Relations = owned() })
	e, err := cluster.Explain(t.Context(), find(t, cluster, "tie", name, ns))
	if err != nil {
		t.Fatal(err)
	}
	plain := func(text string) string {
		return strings.NewReplacer(" in namespace "+ns, "", "Tie.test.kinship.dev/", "Tie/").Replace(text)
	}
	for _, line := range each(e.Findings, "") {
		findings = append(findings, plain(line))
	}
	return findings, plain(e.Next)
}

// explained has the objects of a case, and the findings and the next step of kinship why for Tie a.
type explained struct {
	ties []tie
	want []string
	next string
}

// explain runs kinship why for Tie a of each case, in a namespace of its own.
func explain(t *testing.T, cases map[string]explained) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ns := testenv.Namespace(t)
			applyTies(t, ns, tc.ties...)
			findings, next := whyTie(t, ns, "a")
			if diff := cmp.Diff(tc.want, findings); diff != "" {
				t.Errorf("(-want, +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.next, next); diff != "" {
				t.Errorf("next (-want, +got):\n%s", diff)
			}
		})
	}
}

// TestExplainOwners follows owners that an object waits for, and kinds that the cluster does not serve.
func TestExplainOwners(t *testing.T) {
	cases := map[string]explained{
		"an owner that does not exist": {
			[]tie{{name: "a", spec: "in: [gone]", says: "waiting for Tie/gone"}},
			[]string{"waits for Tie/gone (spec.in), which does not exist"},
			"create Tie/gone, or change spec.in of Tie/a (ask its owner)",
		},
		"a kind that the cluster does not serve": {
			[]tie{{name: "a", spec: "absent: [x]", says: "waiting for Absent/x"}},
			[]string{"waits for Absent.example.com/x (spec.absent), which does not exist, as the cluster does not serve its " +
				"kind"},
			"install the kind Absent.example.com, and create Absent.example.com/x, or change spec.absent of Tie/a " +
				"(ask its owner)",
		},
		"an owner that is not ready": {
			[]tie{
				{name: "a", spec: "in: [b]", says: "waiting for Tie/b"},
				{name: "b", spec: "needs: [gone]", says: "waiting for Tie/gone"},
			},
			[]string{
				"waits for Tie/b (spec.in), which is not ready",
				"  waits for Tie/gone (spec.needs), which does not exist",
			},
			"create Tie/gone, or change spec.needs of Tie/b (ask its owner)",
		},
		"an owner that is ready": {
			[]tie{{name: "a", spec: "in: [b]", says: "the disk is full"}, {name: "b"}},
			[]string{"Available is False, Ready is False (R): the disk is full"},
			"resolve what the controller of Tie.test.kinship.dev objects reports about Tie/a: " +
				"Available is False, Ready is False (R): the disk is full",
		},
	}
	explain(t, cases)
}

// TestExplainNeeds follows the objects that an object waits for. Each case has the message of
// Tie a, and the resulting next step.
func TestExplainNeeds(t *testing.T) {
	cases := map[string]explained{
		"a circle that it is no part of": {
			[]tie{
				{name: "a", spec: "needs: [b]", says: "waiting for Tie/b"},
				{name: "b", spec: "needs: [c]", says: "waiting for Tie/c"},
				{name: "c", spec: "needs: [b]", says: "waiting for Tie/b"},
			},
			[]string{
				"waits for Tie/b (spec.needs), which is not ready",
				"  waits for Tie/c (spec.needs), which is not ready",
				"    waits for Tie/b (spec.needs), and so they wait for each other in a circle: Tie/b -> Tie/c -> Tie/b",
			},
			"break the circle: remove Tie/b from spec.needs of Tie/c, at least until Tie/c is ready (ask its owner)",
		},
		"what completes each other is no circle": {
			[]tie{{name: "a", spec: "later: [b]", says: "-"}, {name: "b", spec: "later: [a]", says: "-"}},
			[]string{"no controller has reported its status yet"},
			"start the operator (kinship operator), or find out why it does not work; " +
				"this is a task for a cluster administrator",
		},
		"what completes it, and is named, counts": {
			[]tie{{name: "a", spec: "later: [gone]", says: "waiting for Tie/gone."}},
			[]string{"waits for Tie/gone (spec.later), which does not exist"},
			"create Tie/gone, or change spec.later of Tie/a (ask its owner)",
		},
		"what was only needed to make it does not count": {
			[]tie{{name: "a", spec: "once: [gone]", says: "the disk is full"}},
			[]string{"Available is False, Ready is False (R): the disk is full"},
			"resolve what the controller of Tie.test.kinship.dev objects reports about Tie/a: " +
				"Available is False, Ready is False (R): the disk is full",
		},
		"what is needed to make it, and is named, counts": {
			[]tie{{name: "a", spec: "once: [gone]", says: "waiting for Tie/gone."}},
			[]string{"waits for Tie/gone (spec.once), which does not exist"},
			"create Tie/gone, or change spec.once of Tie/a (ask its owner)",
		},
		"what can be relied on is not waited for": {
			[]tie{
				{name: "a", spec: "needs: [b]", says: "the disk is full"},
				{name: "b", says: "its change was refused", available: true},
			},
			[]string{"Available is False, Ready is False (R): the disk is full"},
			"resolve what the controller of Tie.test.kinship.dev objects reports about Tie/a: " +
				"Available is False, Ready is False (R): the disk is full",
		},
		"what else its conditions say is not lost": {
			[]tie{{name: "a", spec: "needs: [gone]", says: `waiting for Tie/gone\nthe disk is full`}},
			[]string{
				"Available is False, Ready is False (R): waiting for Tie/gone; the disk is full",
				"waits for Tie/gone (spec.needs), which does not exist",
			},
			"create Tie/gone, or change spec.needs of Tie/a (ask its owner)",
		},
		"nobody looks after any of them": {
			[]tie{{name: "a", spec: "needs: [b]", says: "-"}, {name: "b", says: "-"}},
			[]string{
				"no controller has reported its status yet",
				"waits for Tie/b (spec.needs), which is not ready",
				"  no controller has reported its status yet",
			},
			"start the operator (kinship operator), or find out why it does not work; " +
				"this is a task for a cluster administrator",
		},
		"by two fields": {
			[]tie{{name: "a", spec: "needs: [gone], once: [gone]", says: "waiting for Tie/gone"}},
			[]string{"waits for Tie/gone (spec.needs, spec.once), which does not exist"},
			"create Tie/gone, or change spec.needs and spec.once of Tie/a (ask its owner)",
		},
		"many are counted": {
			[]tie{{name: "a", spec: "needs: [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, n0, n1]", says: "waiting"}},
			[]string{
				"Available is False, Ready is False (R): waiting",
				"waits for Tie/m0 (spec.needs), which does not exist", "waits for Tie/m1 (spec.needs), which does not exist",
				"waits for Tie/m2 (spec.needs), which does not exist", "waits for Tie/m3 (spec.needs), which does not exist",
				"waits for Tie/m4 (spec.needs), which does not exist", "waits for Tie/m5 (spec.needs), which does not exist",
				"waits for Tie/m6 (spec.needs), which does not exist", "waits for Tie/m7 (spec.needs), which does not exist",
				"waits for Tie/m8 (spec.needs), which does not exist", "waits for Tie/m9 (spec.needs), which does not exist",
				"and 2 more",
			},
			"create Tie/m0, or change spec.needs of Tie/a (ask its owner)",
		},
	}
	explain(t, cases)
}

// TestExplainEnds: a long chain is followed up to a limit, and the answer says where it ends.
func TestExplainEnds(t *testing.T) {
	ns := testenv.Namespace(t)
	const length = 25
	for i := range length {
		next := fmt.Sprintf("t%d", i+1)
		applyTies(t, ns, tie{name: fmt.Sprintf("t%d", i), spec: "needs: [" + next + "]", says: "waiting for Tie/" + next})
	}
	findings, next := whyTie(t, ns, "t0")
	if len(findings) >= length {
		t.Errorf("%d findings", len(findings))
	}
	last := fmt.Sprintf("t%d", len(findings))
	want := "waits for Tie/" + last +
		" (spec.needs), which is InProgress; its causes are not followed from here"
	if got := strings.TrimSpace(findings[len(findings)-1]); got != want {
		t.Errorf("it ends with %q, want %q", got, want)
	}
	if want := "run kinship why for Tie/" + last; next != want {
		t.Errorf("next is %q, want %q", next, want)
	}
}

// TestExplainLeaving explains a target that is being deleted, and what keeps the target.
func TestExplainLeaving(t *testing.T) {
	ns := testenv.Namespace(t)
	guarded := ", finalizers: [" + tieGuard + "s, " + tieGuard + "]"
	applyTies(t, ns,
		tie{name: "used", meta: guarded},
		tie{name: "user", spec: "needs: [used]"},
		tie{name: "late", spec: "needs: [used]", says: "Waiting for Tie/used to be ready"},
		tie{name: "done", spec: "needs: [used]", says: "the disk is full"},
	)
	used := &unstructured.Unstructured{}
	used.SetAPIVersion("test.kinship.dev/v1")
	used.SetKind("Tie")
	used.SetNamespace(ns)
	used.SetName("used")
	if err := testenv.Client(t, nil).Delete(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	cases := map[string][]string{
		"late": {
			"waits for Tie/used (spec.needs), which is being deleted",
			"  finalizer test.kinship.dev/tie: the controller of Tie.test.kinship.dev objects removes it " +
				"when no Tie refers to it",
			"    Tie/done refers to it (spec.needs)",
			"    Tie/late refers to it (spec.needs)",
			"    Tie/user refers to it (spec.needs)",
			"  finalizer test.kinship.dev/ties: its controller has to remove it; field manager testenv added it",
		},
		// The object has all its targets.
		"done": {"Available is False, Ready is False (R): the disk is full"},
	}
	for name, want := range cases {
		findings, _ := whyTie(t, ns, name)
		if diff := cmp.Diff(want, findings); diff != "" {
			t.Errorf("%s (-want, +got):\n%s", name, diff)
		}
	}
	step := "delete Tie/done, Tie/late and Tie/user, or change their references"
	if _, next := whyTie(t, ns, "used"); !strings.HasPrefix(next, step) {
		t.Errorf("next is %q", next)
	}
}

// TestExplainMadeAnew: if the owner of a holder would create the holder again, the next step is
// to delete the owner.
func TestExplainMadeAnew(t *testing.T) {
	ns := testenv.Namespace(t)
	maker := configMap(t, ns, "maker")
	applyTies(t, ns, tie{name: "used", meta: ", finalizers: [" + tieGuard + "]"}, tie{
		name: "made", spec: "needs: [used]",
		meta: fmt.Sprintf(`, ownerReferences: [
  {apiVersion: v1, kind: ConfigMap, name: maker, uid: %s, controller: true}]`, maker.GetUID()),
	})
	findings, next := whyTie(t, ns, "used")
	if diff := cmp.Diff([]string{"its deletion would wait: Tie/made refers to it (spec.needs)"}, findings); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	want := "nothing to do. To delete Tie/used, first delete ConfigMap/maker (ask its owner), which controls Tie/made " +
		"and would create it again"
	if next != want {
		t.Errorf("next is %q, want %q", next, want)
	}
}

// TestSecretsAreNotRead: of a Secret, only its existence is read.
func TestSecretsAreNotRead(t *testing.T) {
	ns := testenv.Namespace(t)
	testenv.Apply(t, `{apiVersion: v1, kind: Secret, metadata: {name: there}, stringData: {a: b}}`, testenv.In(ns))
	applyTies(t, ns, tie{name: "a", spec: "secrets: [there, gone]", says: "waiting for Secret/gone"})
	config := testenv.Config(t)
	var read, glanced atomic.Int32
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			switch {
			case !strings.Contains(r.URL.Path, "/secrets/"):
			case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata"):
				glanced.Add(1)
			default:
				read.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	cluster := look(t, config, func(o *lineage.Options) { o.Relations = needing() })
	e, err := cluster.Explain(t.Context(), find(t, cluster, "tie", "a", ns))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"waits for Secret/gone in namespace " + ns + " (spec.secrets), which does not exist"}
	if diff := cmp.Diff(want, each(e.Findings, "")); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	if read.Load() > 0 || glanced.Load() != 2 {
		t.Errorf("%d Secrets were read, and %d looked at", read.Load(), glanced.Load())
	}
}

// TestExplainNamedOwner: an owner that an object names in its spec did not create the object. The step is about the
// object, not about its owner.
func TestExplainNamedOwner(t *testing.T) {
	ns := testenv.Namespace(t)
	owner := held(t, ns, "{apiVersion: test.kinship.dev/v1, kind: Tie, metadata: {name: group}, spec: {}}")[0]
	applyTies(t, ns, tie{name: "used", meta: ", finalizers: [" + tieGuard + "]"})
	applyTies(t, ns, tie{name: "card", spec: "needs: [used]", says: "Waiting for Tie/used to be ready", meta: fmt.Sprintf(
		", ownerReferences: [{apiVersion: test.kinship.dev/v1, kind: Tie, name: group, uid: %s, controller: true}]",
		owner.GetUID())})
	gk := schema.GroupKind{Group: "test.kinship.dev", Kind: "Tie"}
	for want, relations := range map[string][]relation.Relation{
		"delete Tie/group (ask its owner), which controls Tie/card and would create it again": needing(),
		"delete Tie/card, or change its spec.needs, if that can be changed (ask its owner)": append(needing(),
			relation.Relation{Name: "owner", Role: relation.Owner, Declarer: gk, Target: gk}),
	} {
		cluster := look(t, testenv.Config(t), func(o *lineage.Options) { o.Relations = relations })
		e, err := cluster.Explain(t.Context(), find(t, cluster, "tie", "used", ns))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer(" in namespace "+ns, "", "Tie.test.kinship.dev/", "Tie/").Replace(e.Next)
		if want := "nothing to do. To delete Tie/used, first " + want; got != want {
			t.Errorf("next is %q, want %q", got, want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
