package guard_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
)

func declarer(namespace, name string) object.ID {
	return object.ID{Group: "protection.crossplane.io", Kind: "Usage", Namespace: namespace, Name: name}
}

func by(what string, declarer object.ID) guard.Blocker {
	return guard.Blocker{By: what, Declarer: declarer}
}

func because(reason string, declarer object.ID) guard.Blocker {
	return guard.Blocker{Reason: reason, Declarer: declarer}
}

// many returns n blockers u0, u1, ... that use the object.
func many(n int) []guard.Blocker {
	blockers := make([]guard.Blocker, n)
	for i := range blockers {
		blockers[i] = by(fmt.Sprintf("Pod/p%d", i), declarer("", fmt.Sprintf("u%d", i)))
	}
	return blockers
}

func TestRefusalMessage(t *testing.T) {
	release := by("Release/my-prometheus-chart", declarer("", "release-uses-cluster"))
	configMap := by("ConfigMap/b", declarer("n", "u2"))
	first10 := "Pod/p0 (Usage u0), Pod/p1 (Usage u1), Pod/p2 (Usage u2), Pod/p3 (Usage u3), Pod/p4 (Usage u4), " +
		"Pod/p5 (Usage u5), Pod/p6 (Usage u6), Pod/p7 (Usage u7), Pod/p8 (Usage u8), Pod/p9 (Usage u9)"
	reasons := slices.Repeat([]guard.Blocker{because("r", declarer("", "x"))}, 8)
	cases := map[string]struct {
		reason   string
		blockers []guard.Blocker
		want     string
	}{
		"one user": {
			"name, and who says so",
			[]guard.Blocker{release},
			"The resource is used by 1 resource(s): Release/my-prometheus-chart (Usage release-uses-cluster).",
		},
		"two users": {
			"a namespaced Usage is named with its namespace",
			[]guard.Blocker{release, configMap},
			"The resource is used by 2 resource(s): Release/my-prometheus-chart (Usage release-uses-cluster), " +
				"ConfigMap/b (Usage u2 in namespace n).",
		},
		"ten": {"ten are named", many(10), "The resource is used by 10 resource(s): " + first10 + "."},
		"eleven": {
			"the rest is a number", many(11), "The resource is used by 11 resource(s): " + first10 + ", and 1 more.",
		},
		"ten thousand": {
			"the length does not grow", many(10000),
			"The resource is used by 10000 resource(s): " + first10 + ", and 9990 more.",
		},
		"only a reason": {
			"the author's words are quoted",
			[]guard.Blocker{because("Production Database - should never be deleted", declarer("", "x"))},
			`The resource is protected: "Production Database - should never be deleted" (Usage x).`,
		},
		"no reason": {
			"an empty reason is allowed",
			[]guard.Blocker{because("", declarer("", "x"))},
			"The resource is protected: no reason given (Usage x).",
		},
		"used for a reason": {
			"who uses it says more than why",
			[]guard.Blocker{{By: "Pod/p", Reason: "r", Declarer: declarer("", "x")}},
			"The resource is used by 1 resource(s): Pod/p (Usage x).",
		},
		"used and protected": {
			"a sentence each",
			[]guard.Blocker{because("keep", declarer("", "x")), release},
			"The resource is used by 1 resource(s): Release/my-prometheus-chart (Usage release-uses-cluster). " +
				`The resource is protected: "keep" (Usage x).`,
		},
		"content": {
			"a namespace goes with what it holds",
			[]guard.Blocker{{By: "Pod/p", Content: "ConfigMap/a", Declarer: declarer("n", "x")}},
			"The resource holds 1 protected resource(s): ConfigMap/a (Usage x in namespace n).",
		},
		"the limit is one for all": {
			"ten are named in all sentences together", slices.Concat(reasons, []guard.Blocker{release, configMap, release}),
			"The resource is used by 3 resource(s): Release/my-prometheus-chart (Usage release-uses-cluster), " +
				"ConfigMap/b (Usage u2 in namespace n), and 1 more. " +
				"The resource is protected: " + strings.Repeat(`"r" (Usage x), `, 7) + `"r" (Usage x).`,
		},
		"none is named": {
			"a sentence may have only a number",
			append(many(10), because("r", declarer("", "x")), because("s", declarer("", "y"))),
			"The resource is used by 10 resource(s): " + first10 + ". The resource is protected: 2 more.",
		},
		"nobody": {"no blockers, nothing to say", nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, guard.Refusal{Blockers: c.blockers}.Message()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestRefusalStatus(t *testing.T) {
	r := guard.Refusal{
		Target: object.ID{Group: "eks.upbound.io", Kind: "Cluster", Name: "c"}, UID: "uid-1",
		Blockers: []guard.Blocker{
			by("ConfigMap/b", declarer("n", "u2")),
			because("keep", declarer("", "x")),
			{By: "Pod/p", Reason: "r", Content: "Secret/s", Declarer: declarer("", "y")},
		},
	}
	want := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Message: r.Message(),
		Details: &metav1.StatusDetails{
			Group: "eks.upbound.io", Kind: "Cluster", Name: "c", UID: "uid-1",
			Causes: []metav1.StatusCause{
				{Type: guard.CauseInUse, Message: "ConfigMap/b", Field: "Usage.protection.crossplane.io/n/u2"},
				{Type: guard.CauseInUse, Message: "keep", Field: "Usage.protection.crossplane.io//x"},
				{Type: guard.CauseInUse, Message: "Secret/s", Field: "Usage.protection.crossplane.io//y"},
			},
		},
	}
	if diff := cmp.Diff(want, r.Status()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, cause := range r.Status().Details.Causes {
		if id, err := object.Parse(cause.Field); err != nil || id.Kind != "Usage" {
			t.Errorf("a program can't read %q: %v", cause.Field, err)
		}
	}
	r.Blockers = many(guard.MaxNamed + 5)
	if n := len(r.Status().Details.Causes); n != guard.MaxNamed {
		t.Errorf("%d causes, want those that the message names", n)
	}
}

// FuzzRefusal: a message is one line of printable text, whatever reason the author of a Usage
// wrote.
func FuzzRefusal(f *testing.F) {
	f.Add("keep\nforged: line", 3)
	f.Add("\x1b[31mred \u202e\xff", 12)
	f.Fuzz(func(t *testing.T, reason string, n int) {
		blockers := many(min(max(n, 0), 100))
		r := guard.Refusal{Blockers: append([]guard.Blocker{because(reason, declarer("n", "x"))}, blockers...)}
		message := r.Message()
		if i := strings.IndexFunc(message, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q at byte %d of %q", message[i], i, message)
		}
		if len(r.Status().Details.Causes) != min(len(r.Blockers), guard.MaxNamed) {
			t.Errorf("%d causes for %d blockers", len(r.Status().Details.Causes), len(r.Blockers))
		}
	})
}
