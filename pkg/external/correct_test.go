package external

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinship-dev/kinship/pkg/condition"
)

// completer is a cloud whose Get lacks a part of a resource, which Complete adds.
type completer struct {
	*oneCloud

	fails error
}

func (c *completer) Complete(_ context.Context, resource string) (string, error) {
	return resource + " whole", c.call("complete", func() error { return c.fails })
}

// TestCompleted: [Kind.Differs] compares the whole resource, and an error of Complete ends the pass before.
func TestCompleted(t *testing.T) {
	s := newSharers(t)
	cloud := &completer{oneCloud: s.cloud, fails: &Error{Class: Refused, Message: "not now"}}
	k := &s.r.kind
	k.Shared = nil
	k.Identify = func(resource string) Identity {
		id, _, _ := strings.Cut(resource, " ")
		return Identity{ID: id, Created: s.cloud.made[id]}
	}
	var compared []string
	k.Differs = func(_ Input[netKind], resource string) []string {
		compared = append(compared, resource)
		return nil
	}
	k.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{Actuator: cloud, Scope: "scope"}, nil
	}
	s.create("a")
	s.pass("a")
	s.expect("the part could not be read", "create complete", states{"a": "r1 not now"})
	cloud.fails = nil
	s.pass("a")
	s.expect("whole", "get complete", states{"a": "r1"})
	if len(compared) != 1 || compared[0] != "r1 whole" {
		t.Errorf("compared: %q", compared)
	}
}

// TestVital: a resource that served stays Available while an Update fails, unless a field of [Kind.Vital]
// differs. A new resource is not Available before the Update.
func TestVital(t *testing.T) {
	for name, c := range map[string]struct {
		served bool
		vital  []string
		want   bool
	}{
		"served":                {true, nil, true},
		"served, a vital field": {true, []string{"colour"}, false},
		"served, another field": {true, []string{"size"}, true},
		"new":                   {false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := newForged(t)
			s.r.kind.Vital = c.vital
			differs := func(Input[netKind], string) []string { return []string{"colour"} }
			s.create("a")
			if c.served {
				s.pass("a")
				s.edit("a")
			}
			s.r.kind.Differs = differs
			f.call, f.answer = "update", "another" // The Update fails.
			s.pass("a")
			if got := meta.IsStatusConditionTrue(s.read("a").Status.Conditions, condition.Available); got != c.want {
				t.Errorf("Available is %t", got)
			}
		})
	}
}
