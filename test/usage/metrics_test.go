package usage_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/test/operator"
)

// testMetrics: the metrics in docs/metrics.md are counted.
func testMetrics(t *testing.T) {
	const usages, answers = "kinship_usages", "kinship_admission_duration_seconds"
	const blocked, released = "kinship_blocked_deletes_total", "kinship_release_seconds"
	w := newWorld(t)
	w.alone()
	counted := func(family string, labels ...string) map[string]float64 {
		return operator.Metrics(t, family, labels...)
	}
	before := map[string]float64{
		usages: counted(usages)[""], answers: counted(answers)[""], released: counted(released)[""],
		blocked: counted(blocked, "kind")["ConfigMap"],
	}
	check := func(name string, now, want float64) {
		t.Helper()
		if got := now - before[name]; got != want {
			t.Errorf("%s rose by %g, want %g", name, got, want)
		}
	}
	used, using, u := w.protected(false)
	check(usages, counted(usages)[""], 1)
	w.refused(used)
	w.refused(used, client.DryRunAll)
	check(blocked, counted(blocked, "kind")["ConfigMap"], 2)
	if counted(answers)[""]-before[answers] < 2 {
		t.Errorf("answers were not timed: %v", counted(answers))
	}
	if requests := counted("controller_runtime_webhook_requests_total", "webhook"); requests["/validate-no-usages/"] < 2 {
		t.Errorf("requests were counted as %v", requests)
	}
	w.Delete(using)
	w.Gone(u)
	w.free(used)
	w.idle() // The number of Usages is the former number.
	check(released, counted(released)[""], 1)
}
