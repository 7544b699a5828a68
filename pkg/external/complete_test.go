package external

import (
	"context"
	"testing"
)

// tagger is a cloud whose Networks need tags after their creation. tagger loses the answer of the next
// Create.
type tagger struct {
	*oneCloud

	tagged, loses bool
	look          func() // is called before the tags are written
}

func (c *tagger) Create(ctx context.Context, in Input[netKind]) (string, error) {
	id, err := c.oneCloud.Create(ctx, in)
	if c.loses {
		c.loses = false
		return "", &Error{Class: Transient, Message: "no answer"}
	}
	return id, err
}

func (c *tagger) Update(_ context.Context, _ Input[netKind], id string, _ []string) (string, error) {
	c.look()
	c.tagged = true
	return id, nil
}

// TestImportIncomplete: an import waits until the creating object has corrected the resource: while Create
// has no answer, and until Update has written the tags.
func TestImportIncomplete(t *testing.T) {
	for _, loses := range []bool{false, true} {
		s := newSharers(t)
		c := &tagger{oneCloud: s.cloud, loses: loses}
		k := &s.r.kind
		k.Shared = nil
		k.Identify = func(id string) Identity { return Identity{ID: id, Name: "a", Created: s.cloud.made[id]} }
		k.Differs = func(in Input[netKind], _ string) []string {
			if c.tagged || in.Object.Name != "a" {
				return nil
			}
			return []string{"tags"}
		}
		k.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
			return Access[netKind, string]{Actuator: c, Scope: "scope"}, nil
		}
		s.create("a")
		s.importer("i")
		const waits = "none Waiting for resource to be created externally"
		look := func(reason, calls string) {
			s.pass("i")
			s.expect(reason, calls+"find", states{"i": waits})
		}
		s.cloud.on = func(call string, after bool) error {
			if call == "create" && after {
				look("the creation is under way", "create ")
			}
			return nil
		}
		if loses {
			s.pass("a")
			look("the creation has no answer", "")
			c.look = func() { look("the tags are missing", "find ") }
		} else {
			c.look = func() { look("the tags are missing", "") }
		}
		s.pass("a", "i")
		s.expect("complete", "find", states{"a": "r1", "i": "r1"})
	}
}

// TestImportOfTwo: an import by a filter with a complete match and an incomplete match takes neither
// resource, because the incomplete resource may stop matching.
func TestImportOfTwo(t *testing.T) {
	s := newSharers(t)
	s.cloud.made["r8"], s.cloud.made["r9"] = s.clock.Now(), s.clock.Now()
	creator := s.r.engine.records.learn(s.id("creator"), "creator")
	what := s.r.resourceOf("", "r9")
	s.r.engine.records.claim(creator, claimed{Resource: what, text: what.ID}, false)
	s.r.engine.records.startCompletion(creator)
	s.importer("i")
	s.pass("i")
	s.expect("one is incomplete", "find", states{"i": "none Waiting for resource to be created externally"})
	s.woken = nil
	s.r.engine.records.endCompletion(creator)
	if len(s.woken) != 1 || s.woken[0] != "i" {
		t.Errorf("woken: %v", s.woken)
	}
	s.pass("i")
	s.expect("both are complete", "find", states{"i": "none found more than one matching resource during import"})
}
