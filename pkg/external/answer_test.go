package external

import (
	"context"
	"strings"
	"testing"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// forger is a cloud that answers one sort of call with the id of another resource.
type forger struct {
	*oneCloud

	call, answer string
}

func (f *forger) forge(call, id string) string {
	if call == f.call {
		return f.answer
	}
	return id
}

func (f *forger) Get(ctx context.Context, in Input[netKind], id string) (string, error) {
	got, err := f.oneCloud.Get(ctx, in, strings.ToLower(id)) // Neutron ignores the case of ids.
	return f.forge("get", got), err
}

func (f *forger) Find(ctx context.Context, in Input[netKind], search Search) ([]string, error) {
	found, err := f.oneCloud.Find(ctx, in, search)
	for i := range found {
		found[i] = f.forge("find", found[i])
	}
	return found, err
}

func (f *forger) Create(ctx context.Context, in Input[netKind]) (string, error) {
	id, err := f.oneCloud.Create(ctx, in)
	return f.forge("create", id), err
}

func (f *forger) Update(_ context.Context, _ Input[netKind], id string, _ []string) (string, error) {
	return f.forge("update", id), nil
}

// newForged returns sharers with a forger and without [Kind.Shared].
func newForged(t *testing.T) (*sharers, *forger) {
	t.Helper()
	s := newSharers(t)
	f := &forger{oneCloud: s.cloud}
	s.r.engine.Cloud = "OpenStack"
	s.r.kind.Shared = nil
	s.r.kind.Observe = func(n netKind, id string) reconcile.Outcome {
		n.Status.Resource = &openstackv1alpha1.NetworkResourceStatus{Name: id}
		return reconcile.Outcome{}
	}
	s.r.kind.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{Actuator: f, Scope: "scope"}, nil
	}
	return s, f
}

// edit changes the spec of an object, so that the next pass reads the resource.
func (s *sharers) edit(name string) {
	s.t.Helper()
	n := s.read(name)
	n.Spec.Resource.Tags = append(n.Spec.Resource.Tags, openstackv1alpha1.NeutronTag("t"+n.ResourceVersion))
	s.must(s.c.Update(s.t.Context(), n))
	s.watch(name)
}

// resourceName returns the name in status.resource.
func (s *sharers) resourceName(name string) string {
	s.t.Helper()
	if resource := s.read(name).Status.Resource; resource != nil {
		return resource.Name
	}
	return ""
}

// TestForgedAnswer: an answer with an empty id, or with the id of another resource, changes neither
// status.id nor status.resource, and no pass calls Actuator.Create. The object fails until the answer has
// the requested id.
func TestForgedAnswer(t *testing.T) {
	for call, edits := range map[string]bool{"get": false, "update": true} {
		for _, answer := range []string{"", "r9"} {
			t.Run(call+" answers with "+answer, func(t *testing.T) {
				s, f := newForged(t)
				s.create("a")
				s.pass("a")
				s.expect("created", "create", states{"a": "r1"})
				f.call, f.answer = call, answer
				s.r.kind.Differs = func(Input[netKind], string) []string {
					if edits {
						return []string{"tags"}
					}
					return nil
				}
				s.edit("a")
				s.pass("a", "a")
				s.expect("it is tried again", "get get",
					states{"a": `r1 OpenStack answered with Network "` + answer + `" instead of "r1"`})
				if got := s.resourceName("a"); got != "r1" {
					t.Errorf("status.resource is that of %q", got)
				}
				f.call = ""
				s.pass("a")
				s.expect("the answer is right", "get", states{"a": "r1"})
			})
		}
	}
}

// TestCreatedWithoutID: after an answer to Create without an id, findAttempt finds the resource. The
// resource is not created a second time.
func TestCreatedWithoutID(t *testing.T) {
	s, f := newForged(t)
	f.call, f.answer = "create", ""
	s.create("a")
	s.pass("a")
	s.expect("no id", "create", states{"a": `none OpenStack answered with Network "" instead of a new one`})
	s.pass("a")
	s.expect("found by the intent", "find", states{"a": "r1"})
}

// TestOrphanWithoutID: findOrphans fails if Actuator.Find returns a resource without an id. The search is
// repeated, and Actuator.Create is not called.
func TestOrphanWithoutID(t *testing.T) {
	s, f := newForged(t)
	f.call, f.answer = "create", ""
	s.create("a")
	s.pass("a")
	f.call = "find"
	s.pass("a", "a")
	const lie = `none OpenStack listed a Network without an id`
	s.expect("no id", "create find find", states{"a": lie})
	f.call = ""
	s.pass("a")
	s.expect("found by the intent", "find", states{"a": "r1"})
}

// TestForgedImport: spec.import.id takes the resource with that id in any spelling, and no resource with
// another id.
func TestForgedImport(t *testing.T) {
	const asked, id = "C5A2F2A4-1E0B-4B7F-9D0E-0E8F0C4F7D11", "c5a2f2a4-1e0b-4b7f-9d0e-0e8f0c4f7d11"
	const lie = `none OpenStack answered with Network "`
	for answer, want := range map[string]string{
		id: id, strings.ReplaceAll(id, "-", ""): strings.ReplaceAll(id, "-", ""),
		"": lie + `" instead of "` + asked + `"`, "r9": lie + `r9" instead of "` + asked + `"`,
	} {
		t.Run("answers with "+answer, func(t *testing.T) {
			s, f := newForged(t)
			s.cloud.made[id] = s.clock.Now()
			f.call, f.answer = "get", answer
			s.imports("a", &openstackv1alpha1.NetworkImport{ID: new(openstackv1alpha1.UUID(asked))})
			s.pass("a")
			s.expect("by id", "get", states{"a": want})
		})
	}
}

// TestImportListedWithoutID: spec.import.filter takes no resource without an id.
func TestImportListedWithoutID(t *testing.T) {
	s, f := newForged(t)
	s.cloud.made["r1"] = s.clock.Now()
	f.call, f.answer = "find", ""
	s.imports("a", &openstackv1alpha1.NetworkImport{Filter: &openstackv1alpha1.NetworkFilter{
		Name: new(openstackv1alpha1.OpenStackName("any")),
	}})
	s.pass("a")
	s.expect("no id", "find", states{"a": "none OpenStack listed a Network without an id"})
	f.call = ""
	s.pass("a")
	s.expect("by filter", "find", states{"a": "r1"})
}

// imports creates an Unmanaged object with spec.import.
func (s *sharers) imports(name string, from *openstackv1alpha1.NetworkImport) {
	s.t.Helper()
	n := &openstackv1alpha1.Network{}
	n.Name, n.Namespace = name, s.ns
	n.Spec.CloudCredentialsRef = openstackv1alpha1.CloudCredentialsReference{SecretName: "s", CloudName: "c"}
	n.Spec.ManagementPolicy, n.Spec.Import = "unmanaged", from
	s.must(s.c.Create(s.t.Context(), n))
	s.watch(name)
}

// TestForgedWhileDeleted: an object waits for the end of a lingering resource ([Kind.Lingers]), whichever
// other resource the cloud returns.
func TestForgedWhileDeleted(t *testing.T) {
	s, f := newForged(t)
	s.r.kind.Lingers = true
	s.create("a")
	s.pass("a")
	s.cloud.on = func(call string, after bool) error {
		if call == "delete" && after {
			s.cloud.made["r1"] = s.clock.Now()
		}
		return nil
	}
	s.delete("a")
	s.pass("a")
	f.call, f.answer = "get", ""
	s.pass("a")
	s.expect("another answer", "create delete get",
		states{"a": `r1 OpenStack answered with Network "" instead of "r1"`})
	f.call = ""
	delete(s.cloud.made, "r1")
	s.pass("a")
	s.expect("gone", "get", states{"a": "gone"})
}
