package usage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// chained returns a ledger in which each of some objects uses the one after it.
func chained(t *testing.T, length int) *ledger {
	t.Helper()
	l := newTestLedger(t)
	for i := range length - 1 {
		l.index.Set(object.ID{Kind: "Usage", Name: fmt.Sprint(i)}, []relation.Edge{{
			Declarer: object.ID{Kind: "Usage", Name: fmt.Sprint(i)}, Source: link(i), Target: link(i + 1),
		}})
	}
	return l
}

func link(i int) relation.Ref {
	return relation.Named(object.ID{Kind: "ConfigMap", Namespace: "ns", Name: fmt.Sprint("cm", i)})
}

// TestRingBounds: a search ends, and says so if it did not come to the end.
func TestRingBounds(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		reason string
		ctx    context.Context
		length int
		closed bool
		want   int // objects in the ring, the first one twice
		err    error
	}{
		"none":         {"the chain ends", t.Context(), 50, false, 0, nil},
		"closed":       {"all of it", t.Context(), 50, true, 51, nil},
		"longest":      {"just within the bound", t.Context(), maxReached, true, maxReached + 1, nil},
		"too long":     {"it may go on", t.Context(), maxReached + 2, true, 0, errTooMany},
		"out of time":  {"nobody waits for it", over, 50, true, 0, errTooMany},
		"found anyway": {"it is the first looked at", over, 1, true, 2, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := chained(t, c.length)
			edge := relation.Edge{Source: link(-1), Target: link(0)}
			if c.closed {
				edge.Source = link(c.length - 1)
			}
			ring, err := l.ring(c.ctx, edge)
			if len(ring) != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: a ring of %d, error %v; want %d, %v", c.reason, len(ring), err, c.want, c.err)
			}
		})
	}
}

// TestRingUntold: a Usage is taken in although nobody can tell whether it closes a
// ring, and its author is told.
func TestRingUntold(t *testing.T) {
	v := newTestValidator(t)
	v.ledger = chained(t, maxReached+2)
	u := &protectionv1beta1.Usage{}
	u.Namespace = "ns"
	end := func(name string) sharedv1alpha1.Resource {
		return sharedv1alpha1.Resource{
			APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: name},
		}
	}
	u.Spec.Of, u.Spec.By = end("cm0"), new(end("other"))
	answer := v.inRing(t.Context(), u)
	want := "behind ConfigMap/cm0 in namespace ns too many objects use each other"
	if !answer.Allowed || len(answer.Warnings) != 1 || !strings.Contains(answer.Warnings[0], want) {
		t.Errorf("answered with %+v, want the warning %q", answer, want)
	}
}
