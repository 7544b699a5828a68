package lineage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestExternalHealth(t *testing.T) {
	cond := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: reason, ObservedGeneration: 2}
	}
	available, done := cond("Available", "True", "Success"), cond("Progressing", "False", "Success")
	cases := map[string]struct {
		reason     string
		list       []metav1.Condition
		generation int64
		want       Status
	}{
		"serves":  {"both are as they should be", []metav1.Condition{available, done}, 2, Current},
		"changed": {"the conditions are about an earlier spec", []metav1.Condition{available, done}, 3, InProgress},
		"waits":   {"a wait ends by itself", []metav1.Condition{cond("Progressing", "True", "Progressing")}, 2, InProgress},
		"repeated": {
			"it serves, and is to be changed",
			[]metav1.Condition{available, cond("Progressing", "True", "TransientError")},
			2, InProgress,
		},
		"invalid": {
			"nothing is tried again",
			[]metav1.Condition{available, cond("Progressing", "False", "InvalidConfiguration")},
			2, Failed,
		},
		"not active": {
			"it exists and can't be used", []metav1.Condition{cond("Available", "False", "Success"), done}, 2, InProgress,
		},
		"summed up": {"kstatus knows Ready", []metav1.Condition{available, done, cond("Ready", "True", "Success")}, 2, ""},
		"Deployment": {
			"its Progressing has other reasons",
			[]metav1.Condition{available, cond("Progressing", "True", "NewReplicaSetAvailable")},
			2, "",
		},
		"nothing": {"no operator has seen the object", nil, 2, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, _, known := externalHealth(c.list, c.generation); got != c.want || known != (c.want != "") {
				t.Errorf("%s: %q, known is %t; want %q", c.reason, got, known, c.want)
			}
		})
	}
}

// TestRecordedDrift turns status.drift into the condition that explanations know.
func TestRecordedDrift(t *testing.T) {
	drift := func(value any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"drift": value}}}
	}
	progressing := metav1.Condition{Type: "Progressing", Status: "False", Reason: "Success"}
	drifted := metav1.Condition{
		Type: "Drifted", Status: "True", Reason: "Immutable",
		Message: "its resource differs in what can't be changed: a is 1, not 2. Correct it there, or delete and create " +
			"the object to have another made",
	}
	cases := map[string]struct {
		obj  *unstructured.Unstructured
		list []metav1.Condition
		want []metav1.Condition
	}{
		"drifted": {
			drift([]any{"a is 1, not 2"}), []metav1.Condition{progressing}, []metav1.Condition{drifted},
		},
		"said by a condition":        {drift([]any{"a is 1, not 2"}), []metav1.Condition{progressing, drifted}, nil},
		"another kind's field":       {drift([]any{"a is 1, not 2"}), nil, nil},
		"a field of another type":    {drift("left"), []metav1.Condition{progressing}, nil},
		"a list with something else": {drift([]any{int64(1)}), []metav1.Condition{progressing}, nil},
		"none":                       {drift([]any{}), []metav1.Condition{progressing}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, recordedDrift(c.obj, c.list)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
