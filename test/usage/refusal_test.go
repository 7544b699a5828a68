package usage_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testRefusal: the texts of the table, word for word.
func testRefusal(t *testing.T) {
	cases := map[string]struct {
		reason string
		usages func(w *world) []usage
		want   string // NS is the namespace
	}{
		"reason": {"for its own sake", func(w *world) []usage {
			return []usage{protects("x", named("used"), "Production Database - should never be deleted")}
		}, `The resource is protected: "Production Database - should never be deleted" (Usage x in namespace NS).`},
		"user": {"the seed's sentence", func(w *world) []usage {
			return []usage{uses("u", named("a"), named("used"))}
		}, `The resource is used by 1 resource(s): ConfigMap/a (Usage u in namespace NS).`},
		"user and reason": {"a reason beside a user is for the details only", func(w *world) []usage {
			u := uses("u", named("a"), named("used"))
			u.Spec.Reason = &[]string{"because"}[0]
			return []usage{u}
		}, `The resource is used by 1 resource(s): ConfigMap/a (Usage u in namespace NS).`},
		"both": {"users before protections", func(w *world) []usage {
			return []usage{protects("p", named("used"), "precious"), uses("u", named("a"), named("used"))}
		}, `The resource is used by 1 resource(s): ConfigMap/a (Usage u in namespace NS). ` +
			`The resource is protected: "precious" (Usage p in namespace NS).`},
		"kinds": {"the three kinds, in the order of their groups", func(w *world) []usage {
			return []usage{
				uses("u2", named("b"), named("used")),
				legacy(uses("legacy-"+w.NS, in(w.NS, named("a")), in(w.NS, named("used")))),
				cluster(uses("cluster-"+w.NS, in(w.NS, named("c")), in(w.NS, named("used")))),
			}
		}, `The resource is used by 3 resource(s): ConfigMap/a (Usage legacy-NS), ` +
			`ConfigMap/c (ClusterUsage cluster-NS), ConfigMap/b (Usage u2 in namespace NS).`},
		"set": {"a set has no name", func(w *world) []usage {
			return []usage{uses("u", all(selected("app", "x")), named("used"))}
		}, `The resource is used by 1 resource(s): every ConfigMap in namespace NS that matches app=x (Usage u in namespace NS).`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			used := configMap("used")
			w.create(used, labelled("a", "app", "x"), configMap("b"), configMap("c"))
			for _, u := range c.usages(w) {
				w.create(u)
				w.ready(u)
			}
			want := strings.ReplaceAll(c.want, "NS", w.NS)
			if diff := cmp.Diff(want, w.refused(used)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(want, w.refused(used, client.DryRunAll)); diff != "" {
				t.Errorf("%s, dry run (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// testManyUsers: ten are named, the rest is a number, and programs read causes.
func testManyUsers(t *testing.T) {
	w := newWorld(t)
	used := configMap("used")
	w.create(used)
	var usages []usage
	var parts []string
	var causes []metav1.StatusCause
	for i := range 13 {
		by := fmt.Sprintf("by%02d", i)
		w.create(configMap(by))
		usages = append(usages, uses("u-"+by, named(by), named("used")))
		w.create(usages[i])
		if i < 10 {
			parts = append(parts, fmt.Sprintf("ConfigMap/%s (Usage u-%[1]s in namespace %s)", by, w.NS))
			causes = append(causes, metav1.StatusCause{
				Type: "InUse", Message: "ConfigMap/" + by, Field: "Usage.protection.crossplane.io/" + w.NS + "/u-" + by,
			})
		}
	}
	w.ready(usages...)
	status := w.refusal(used)
	want := "The resource is used by 13 resource(s): " + strings.Join(parts, ", ") + ", and 3 more."
	if diff := cmp.Diff(want, status.Message); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if status.Code != 409 || status.Reason != metav1.StatusReasonConflict {
		t.Errorf("code %d, reason %s", status.Code, status.Reason)
	}
	details := &metav1.StatusDetails{Name: "used", Kind: "ConfigMap", UID: used.UID, Causes: causes}
	if diff := cmp.Diff(details, status.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

// testKubectlRefused: the output of kubectl for a user.
func testKubectlRefused(t *testing.T) {
	w := newWorld(t)
	_, _, _ = w.protected(false)
	out, err := w.kubectl("delete", "configmap", "used")
	want := "Error from server (Conflict): " + deniedBy +
		"The resource is used by 1 resource(s): ConfigMap/using (Usage u in namespace " + w.NS + ").\n"
	if err == nil || out != want {
		t.Errorf("kubectl delete: %v\n%s\nwant\n%s", err, out, want)
	}
}

// testRefusedCost: a refused user is recorded once. A repeated refusal changes no object, and the
// operator sends no request for it.
func testRefusedCost(t *testing.T) {
	w := newWorld(t)
	used, _, u := w.protected(true)
	if err := w.Read(used); err != nil {
		t.Fatal(err)
	}
	version := used.ResourceVersion
	w.refused(used)
	w.readBack(u) // The record is in the operator's cache after the watch event of its own write.
	isProof := func(r request) bool {
		return r.method == http.MethodDelete && strings.Contains(r.body, `"dryRun":["All"]`)
	}
	// A connection that the API server opens, which a busy machine may cause, is proven once. Then nothing is sent.
	testenv.Eventually(t, func() error {
		before := len(sent.requests(about(w.NS)))
		for range 5 {
			w.refused(used)
			w.refused(used, client.DryRunAll)
		}
		all := sent.requests(about(w.NS))[before:] // Access reviews name the namespace too.
		if others := slices.DeleteFunc(slices.Clone(all), isProof); len(others) > 0 {
			t.Errorf("for repeated refusals the operator sent:\n%s", others)
		}
		if len(all) > 0 {
			return fmt.Errorf("%d proofs were sent", len(all))
		}
		return nil
	})
	if err := w.Read(used); err != nil || used.ResourceVersion != version {
		t.Errorf("the object has version %s, was %s, error %v", used.ResourceVersion, version, err)
	}
	record := u.ResourceVersion
	if err := w.Read(u); err != nil || u.ResourceVersion != record {
		t.Errorf("the Usage has version %s, was %s, error %v", u.ResourceVersion, record, err)
	}
}

// readBack waits until the operator has seen its own record.
func (w *world) readBack(u usage) {
	w.T.Helper()
	w.awaitProcessed()
	if err := w.Read(u); err != nil {
		w.T.Fatal(err)
	}
	if len(u.UsageStatus().Refused) == 0 {
		w.T.Fatal("the refusal is not recorded")
	}
}
