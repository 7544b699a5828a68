package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestElements(t *testing.T) {
	cases := map[string]struct {
		shape shape
		want  []string
		depth int
	}{
		"networks": {shape{2, 0, 0}, []string{"net-0", "net-1", "sub-0", "sub-1"}, 2},
		"all": {
			shape{2, 1, 2},
			[]string{"net-0", "router-0", "net-1", "sub-0", "sub-1", "if-0", "port-0-0", "if-1", "port-1-0"},
			3,
		},
		"routers": {
			shape{3, 0, 2},
			[]string{"net-0", "router-0", "net-1", "net-2", "router-1", "sub-0", "sub-1", "sub-2", "if-0", "if-1", "if-2"},
			3,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all := c.shape.elements()
			if diff := cmp.Diff(c.want, names(all)); diff != "" {
				t.Errorf("dependencies first (-want +got):\n%s", diff)
			}
			if got := depth(all); got != c.depth {
				t.Errorf("the longest chain has %d, want %d", got, c.depth)
			}
		})
	}
}

func TestInOrder(t *testing.T) {
	all := shape{5, 2, 2}.elements()
	for _, backwards := range []bool{false, true} {
		var mu sync.Mutex
		var order []*element
		err := inOrder(t.Context(), all, 3, backwards, func(_ context.Context, e *element) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, e)
			return nil
		})
		if err != nil || len(order) != len(all) {
			t.Fatalf("%d of %d, %v", len(order), len(all), err)
		}
		for i, e := range order {
			for _, n := range e.needs {
				if earlier := slices.Index(order, n) < i; earlier == backwards {
					t.Errorf("backwards %v: %s and %s, which needs it, are in the wrong order", backwards, n.name, e.name)
				}
			}
		}
	}
}

func TestInOrderEndsWithAnError(t *testing.T) {
	all := shape{5, 2, 2}.elements()
	broken := errors.New("broken")
	err := inOrder(t.Context(), all, 1, false, func(context.Context, *element) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v; what waits for the broken one must not wait for ever", err)
	}
}

func TestState(t *testing.T) {
	cases := map[string]struct {
		conditions []any
		want       string
	}{
		"new":       {nil, "nothing was said yet"},
		"available": {[]any{condition("Available", "True", 2)}, available},
		"waiting":   {[]any{condition("Available", "False", 2), condition("Progressing", "True", 2)}, "so it is"},
		"before":    {[]any{condition("Available", "True", 1), condition("Progressing", "True", 2)}, "so it is"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: fields{"status": fields{"conditions": c.conditions}}}
			u.SetGeneration(2)
			if got := state(u); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func condition(name, status string, generation int64) fields {
	return fields{"type": name, "status": status, "observedGeneration": generation, "message": "so it is"}
}

func names(all []*element) []string {
	result := make([]string, 0, len(all))
	for _, e := range all {
		result = append(result, e.name)
	}
	return result
}
