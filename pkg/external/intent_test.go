package external

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

// TestMade: intent.made never accepts a resource that another client has created.
func TestMade(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	hourAgo, soon := noon.Add(-time.Hour), noon.Add(time.Second)
	cases := map[string]struct {
		reason        string
		who           Identity
		attempt       time.Time
		began         time.Time
		dated, marked bool
		want          bool
	}{
		"after":           {"it was made since the attempt", Identity{Created: soon}, noon, hourAgo, true, false, true},
		"before":          {"it was there already", Identity{Created: hourAgo}, noon, hourAgo, true, false, false},
		"at that moment":  {"times have no fractions", Identity{Created: noon}, noon, hourAgo, true, false, true},
		"clock behind":    {"clocks differ", Identity{Created: noon.Add(1 - clockSkew)}, noon, hourAgo, true, false, true},
		"clock too far":   {"not by so much", Identity{Created: noon.Add(-clockSkew)}, noon, hourAgo, true, false, false},
		"older than both": {"an intent may be backdated", Identity{Created: hourAgo}, time.Time{}, noon, true, false, false},
		"says nothing":    {"without a date it may be of any day", Identity{}, noon, hourAgo, true, false, false},
		"another's":       {"it names its object", Identity{Created: soon, Marker: "uid"}, noon, hourAgo, true, false, false},
		"no mark":         {"ours would have one", Identity{Created: soon}, noon, hourAgo, true, true, false},
		"undated, new":    {"it was not there before", Identity{ID: "new"}, noon, hourAgo, false, false, true},
		"undated, old":    {"it was there before", Identity{ID: "old"}, noon, hourAgo, false, false, false},
		"undated, marked": {"ours would have a mark", Identity{ID: "new"}, noon, hourAgo, false, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			i := &intent{Time: c.attempt, Before: []string{"old"}}
			if got := i.made(c.who, c.began, c.dated, c.marked); got != c.want {
				t.Errorf("%s: %t, want %t", c.reason, got, c.want)
			}
		})
	}
}

// restore creates an object with the finalizer and the annotation of a backup, if they are not empty.
func (s *sharers) restore(name, finalizer, intent string) {
	s.t.Helper()
	n := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
	if finalizer != "" {
		n.Finalizers = []string{finalizer}
	}
	if intent != "" {
		n.Annotations = map[string]string{"example.com/creation-intent": intent}
	}
	n.Spec.CloudCredentialsRef = openstackv1alpha1.CloudCredentialsReference{SecretName: "s", CloudName: "c"}
	n.Spec.ManagementPolicy, n.Spec.Resource = "managed", &openstackv1alpha1.NetworkResourceSpec{}
	s.must(s.c.Create(s.t.Context(), n))
	s.watch(name)
}

const (
	askedFinalizer  = "none Restored: finalizer example.com/network was not put on this object by the operator, " + asked
	askedAnnotation = "none Restored: annotation example.com/creation-intent is of an object with uid former, " + asked
	asked           = "which may have created a resource in the toy cloud already. To take that resource over, " +
		"set spec.adopt. To have another one created, remove finalizer example.com/network " +
		"and annotation example.com/creation-intent"
)

// TestRestored: an object with a trace of another object sends no request, before and after a restart. The
// resource is created when a user has removed the trace. An object without a trace is created at once, also
// if its annotation is no intent.
func TestRestored(t *testing.T) {
	for name, c := range map[string]struct{ finalizer, intent, want string }{
		"finalizer":                 {"example.com/network", "", askedFinalizer},
		"annotation":                {"", `{"uid":"former"}`, askedAnnotation},
		"both":                      {"example.com/network", `{"uid":"former"}`, askedAnnotation},
		"another's finalizer":       {"example.com/another", "", ""},
		"an annotation of no form":  {"", `{"uid":`, ""},
		"an annotation without uid": {"", `{"name":"former"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newToyWorld(t, true)
			w.restore("a", c.finalizer, c.intent)
			if c.want != "" {
				w.pass("a", "a")
				w.expect("asked", states{"a": c.want})
				w.restart()
				w.pass("a")
				w.expect("another process asks as well", states{"a": c.want})
				w.must(w.c.Patch(t.Context(), w.read("a"), client.RawPatch("application/merge-patch+json",
					[]byte(`{"metadata":{"finalizers":null,"annotations":{"example.com/creation-intent":null}}}`))))
				w.watch("a")
			}
			w.pass("a")
			w.expect("no trace", states{"a": "blue-a"}, "GET /things/blue-a", "PUT /things/blue-a")
		})
	}
}

// TestRestoredByApply: another client may have applied the finalizer. Only the operator's field manager proves
// that the operator has put the finalizer on.
func TestRestoredByApply(t *testing.T) {
	w := newToyWorld(t, true)
	w.create("a")
	w.must(w.c.Patch(t.Context(), w.read("a"), client.RawPatch(types.ApplyPatchType, fmt.Appendf(nil, `
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata: {name: a, namespace: %s, finalizers: [example.com/network]}
`, w.ns)), client.FieldOwner("velero")))
	w.watch("a")
	w.pass("a")
	w.expect("the finalizer is velero's", states{"a": askedFinalizer})
}

// TestRestoredDeleted: the deletion of a restored object that never got a resource deletes nothing in the
// cloud.
func TestRestoredDeleted(t *testing.T) {
	w := newToyWorld(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.restore("a", "example.com/network", `{"uid":"former"}`)
	w.pass("a")
	w.delete("a")
	w.pass("a")
	w.expect("the resource may be that of another object", states{"a": "gone"})
}

// TestRestoredAdopts: spec.adopt is the answer of a person: the object takes the resource over.
func TestRestoredAdopts(t *testing.T) {
	w := newToyWorld(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.restore("a", "example.com/network", `{"uid":"former"}`)
	w.pass("a")
	w.adopt("a")
	w.pass("a")
	w.expect("taken over", states{"a": "blue-a"}, "GET /things/blue-a")
}

// unlistable is a client whose List fails.
type unlistable struct{ client.Client }

func (unlistable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no answer")
}

// TestNative: a finalizer that the operator has added to this very object is no trace, also for another
// process that knows only the managedFields. If these can't be read, nothing is created.
func TestNative(t *testing.T) {
	s := newSharers(t)
	s.r.kind.Shared = nil
	s.create("a")
	s.cloud.refuse("create", &Error{Class: Refused, Message: "the quota is used up"})
	s.pass("a")
	s.expect("refused", "create", states{"a": "none the quota is used up"})
	if got := s.read("a"); len(got.Finalizers) != 1 || got.Annotations["example.com/creation-intent"] != "" {
		t.Fatalf("finalizers %v, annotations %v", got.Finalizers, got.Annotations)
	}
	s.cloud.on = nil
	s.restart()
	s.r.kind.Shared = nil
	s.r.engine.Live = unlistable{s.c}
	s.pass("a")
	if got := s.read("a").Status.Conditions; s.cloud.calls != nil || len(got) == 0 ||
		!strings.Contains(got[0].Message, "read who has put the finalizer on: no answer") {
		t.Errorf("calls %v, conditions %v", s.cloud.calls, got)
	}
	s.r.engine.Live = s.c
	s.pass("a")
	s.expect("the operator has put the finalizer on", "create", states{"a": "r1"})
}
