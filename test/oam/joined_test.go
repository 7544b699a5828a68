package oam_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// TestKilledAtJoin: an operator that is killed right after a workload has joined a scope leaves behind
// who is in the scope, although the workload waits for data, so that nothing was applied before.
func TestKilledAtJoin(t *testing.T) {
	var joined atomic.Bool
	proxy := operator.NewProxy(t)
	first := operator.Start(t, testKinds, proxy.Through)
	define(t)
	w := newWorld(t)
	proxy.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) bool {
		switch {
		case !strings.Contains(r.URL.Path, "/namespaces/"+w.NS+"/"):
			return false
		case joined.Load():
		case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/healthscopes/health"):
			next.ServeHTTP(httptest.NewRecorder(), r)
			joined.Store(true)
		default:
			return false
		}
		operator.Answer(rw, http.StatusServiceUnavailable, "ServiceUnavailable")
		return true
	})
	w.write(healthScope)
	w.write(bare("sink", 1))
	w.write(application("app", `componentName: sink
      dataInputs:
        - inputStore:
            apiVersion: v1
            kind: ConfigMap
            name: none
            operations: [{type: jsonPatch, op: add, toFieldPath: spec.key, valueFrom: {fieldPath: data.key}}]`) + scopes)
	w.get("HealthScope", "health", members(1))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	w.Delete(w.blank("ApplicationConfiguration", "app"))
	operator.Start(t, testKinds)
	w.gone("ApplicationConfiguration", "app")
	w.get("HealthScope", "health", members(0))
}
