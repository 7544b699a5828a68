package relation_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// FuzzSelector: a selector of any form selects an object only if each of its parts does. An
// empty selector, or a selector that no object can match, selects nothing.
func FuzzSelector(f *testing.F) {
	f.Add("app", "web", "tier in (a, b),!old", "uid", "app", "web", "uid")
	f.Add("", "", "", "", "", "", "")
	f.Add("", "", "x notin (),", "", "a/b/c", "\x00", "c")
	f.Fuzz(func(t *testing.T, key, value, where, controller, hasKey, hasValue, controlledBy string) {
		obj := relation.Object{Controller: types.UID(controlledBy), Labels: map[string]string{hasKey: hasValue}}
		s := relation.Selector{Controller: types.UID(controller)}
		if key != "" {
			s.Labels = map[string]string{key: value}
		}
		if parsed, err := labels.Parse(where); err == nil && where != "" {
			s.Where = parsed
		}
		want := s.Labels != nil || s.Where != nil || controller != ""
		want = want && (controller == "" || controller == controlledBy)
		want = want && (s.Where == nil || s.Where.Matches(labels.Set(obj.Labels)))
		want = want && (s.Labels == nil || (key == hasKey && value == hasValue))
		if got := s.Matches(obj); got != want {
			t.Errorf("%s selects %v: %t, want %t", s.String(), obj.Labels, got, want)
		}
		if a, b := (relation.Ref{Selector: &s}), (relation.Ref{Selector: &s}); !a.Equal(b) {
			t.Errorf("%s is not equal to itself", s.String())
		}
	})
}
