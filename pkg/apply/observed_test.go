package apply_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/apply"
)

// TestCompact shows that a cache that keeps less of managed fields is as good, and that
// nothing but the fields and their time matters.
func TestCompact(t *testing.T) {
	const fields = `{"f:data":{"f:a":{},"f:b":{}}}`
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	mark := func(fields string, at time.Time, compact int) string {
		f := metav1.ManagedFieldsEntry{
			Manager: "ours", Operation: metav1.ManagedFieldsOperationApply, Time: &metav1.Time{Time: at},
			FieldsV1: &metav1.FieldsV1{},
		}
		f.FieldsV1.SetRawString(fields)
		before := f.FieldsV1
		for range compact {
			f = apply.Compact(f)
		}
		if before.GetRawString() != fields {
			t.Error("what others share was changed")
		}
		return apply.Observe(&metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{f}}, "ours").Mark
	}
	want := mark(fields, at, 0)
	cases := map[string]struct {
		reason string
		got    string
		same   bool
	}{
		"compact":       {"less is kept of the same", mark(fields, at, 1), true},
		"compact twice": {"a cache may do so with what another one has done", mark(fields, at, 2), true},
		"other order":   {"some clients have an order of their own", mark(`{"f:data":{"f:b":{},"f:a":{}}}`, at, 1), true},
		"other fields":  {"somebody took one away", mark(`{"f:data":{"f:a":{}}}`, at, 1), false},
		"other time":    {"a value was changed in our name", mark(fields, at.Add(time.Second), 1), false},
		"none":          {"nothing is ours", mark("", at, 1), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if same := c.got == want; same != c.same {
				t.Errorf("%s: the mark is the same: %t, want %t", c.reason, same, c.same)
			}
		})
	}
}

func TestFieldManager(t *testing.T) {
	long := strings.Repeat("x", 128)
	a, b := apply.FieldManager(long+"a"), apply.FieldManager(long+"b")
	if apply.FieldManager(long) != long || len(a) != len(long) || a == b {
		t.Errorf("the field managers are %s and %s", a, b)
	}
}
