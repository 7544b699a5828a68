package external

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// undated makes the things of a toyWorld say neither when nor for which object they were created.
func (w *toyWorld) undated() {
	w.cloud.change(func(c *toyCloud) {
		for i := range 2 {
			id := fmt.Sprint("theirs", i)
			c.things[id] = &thing{ID: id, Name: "a"}
		}
	})
}

// TestBefore: for a kind without dates and marks, the intent lists the resources of the name that exist
// before the creation. After a lost answer, also in another process, none of those is taken for the
// resource of the attempt.
func TestBefore(t *testing.T) {
	w := newToyWorld(t, false)
	w.undated()
	w.cloud.change(func(c *toyCloud) { c.lose = http.MethodPost })
	w.create("a")
	w.pass("a")
	w.expect("no answer", states{"a": "none no answer"}, "GET /things?name=a", "POST /things")
	w.restart()
	w.pass("a")
	w.expect("found", states{"a": "t1"}, "GET /things?name=a")
}

// TestNamesakes: the list of existing resources is bounded, so an object with a name of too many resources
// is refused, and nothing is created.
func TestNamesakes(t *testing.T) {
	w := newToyWorld(t, false)
	fill := func(n int) {
		w.cloud.change(func(c *toyCloud) {
			clear(c.things)
			for i := range n {
				c.things[fmt.Sprint(i)] = &thing{ID: fmt.Sprint(i), Name: "a"}
			}
		})
	}
	fill(maxNamesakes + 1)
	w.create("a")
	w.pass("a")
	const many = "none there are 65 resources of that name already: choose another name"
	w.expect("too many", states{"a": many}, "GET /things?name=a")
	fill(maxNamesakes)
	w.edit("a")
	w.pass("a")
	w.expect("just enough", states{"a": "t1"}, "GET /things?name=a", "POST /things")
}

// TestMarked: of several resources of the name, the one with the uid of the object is that of the attempt.
// Resources without the uid are not, however new they are.
func TestMarked(t *testing.T) {
	for name, marks := range map[string]map[string]types.UID{
		"marked": {"t1": "self"}, "marked by another": {"t1": "another"}, "not marked": {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newToyWorld(t, false)
			w.undated()
			w.cloud.change(func(c *toyCloud) { c.lose = http.MethodPost })
			w.create("a")
			self := w.read("a").UID
			w.r.kind.Marked = true
			w.r.kind.Identify = func(id string) Identity {
				who := Identity{ID: id, Marker: marks[id]}
				if who.Marker == "self" {
					who.Marker = self
				}
				return who
			}
			w.pass("a", "a")
			if name == "marked" {
				w.expect("found", states{"a": "t1"}, "POST /things", "GET /things?name=a")
				return
			}
			w.expect("created again, since no resource has the mark", states{"a": "t2"},
				"POST /things", "GET /things?name=a", "POST /things")
		})
	}
}

// TestRefusedCreate: a Create that the cloud refused leaves no intent, so that no later pass searches for a
// resource, and the deletion of the object sends no request.
func TestRefusedCreate(t *testing.T) {
	for class, want := range map[Class]string{
		Refused: "none no", Busy: "none no", Invalid: "none invalid configuration creating resource: no",
	} {
		s := newSharers(t)
		s.r.kind.Shared = nil
		s.create("a")
		s.cloud.refuse("create", &Error{Class: class, Message: "no"})
		s.pass("a")
		s.expect("refused", "create", states{"a": want})
		s.restart()
		s.r.kind.Shared = nil
		s.delete("a")
		s.pass("a")
		s.expect("there is nothing to delete", "", states{"a": "gone"})
	}
}

// late is a cloud behind a proxy that does not wait for answers.
type late struct{ *oneCloud }

func (l late) Create(ctx context.Context, in Input[netKind]) (string, error) {
	id, err := l.oneCloud.Create(ctx, in)
	if err == nil {
		delete(l.made, id) // It comes later.
		err = &Error{Class: Transient, Late: true, Message: "gateway timeout"}
	}
	return id, err
}

// TestLate: after the answer of a proxy, the cloud may carry out the Create for carriedOut. Create is not
// repeated before.
func TestLate(t *testing.T) {
	s := newSharers(t)
	s.r.engine.Cloud, s.r.kind.Shared = "the cloud", nil
	s.r.kind.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{Actuator: late{s.cloud}, Scope: "scope"}, nil
	}
	s.create("a")
	s.pass("a")
	s.expect("no answer", "create", states{"a": "none gateway timeout"})
	s.clock.SetTime(s.clock.Now().Add(carriedOut - 1))
	s.pass("a")
	const waits = "none Waiting for what was asked of the cloud before: its answer was lost"
	s.expect("it may come", "find", states{"a": waits})
	s.clock.SetTime(s.clock.Now().Add(1))
	s.pass("a")
	s.expect("it does not come", "find create", states{"a": "none gateway timeout"})
}

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
