package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIsRefusal(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	// A webhook may put a sentence where a reason belongs.
	sentence := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: "in-use by 1 usage(s)"}}
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"conflict":  {"the answer of a webhook", apierrors.NewConflict(resource, "a", nil), true},
		"sentence":  {"the code counts, not the reason", sentence, true},
		"forbidden": {"the answer of a policy", fmt.Errorf("x: %w", apierrors.NewForbidden(resource, "a", nil)), true},
		"not found": {"an object that is gone was not protected", apierrors.NewNotFound(resource, "a"), false},
		"internal":  {"a webhook that is down is not protection", apierrors.NewInternalError(errors.New("x")), false},
		"other":     {"a broken connection says nothing", errors.New("x"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := isRefusal(c.err); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func TestFreshRunsOut(t *testing.T) {
	p := population{pairs: []pair{"a", "b", "c"}}
	got := [][]pair{p.fresh(2), p.fresh(2), p.fresh(2)}
	if diff := cmp.Diff([][]pair{{"a", "b"}, {"c"}, {}}, got); diff != "" {
		t.Errorf("no object is tried for the first time twice (-want +got):\n%s", diff)
	}
}

func TestChanged(t *testing.T) {
	before := versions{"a": "1", "b": "2", "c": "3"}
	after := versions{"a": "1", "b": "5", "d": "4"}
	if got := before.changed(after); got != 2 {
		t.Errorf("got %d: one was written, one is gone, and what is new was not there to be kept", got)
	}
}
