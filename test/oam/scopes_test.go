package oam_test

import "testing"

// testScopeRights: a workload joins a scope only if the authors may change the scope themselves. A scope
// that they may not change, or that does not exist, keeps the workload out of no other scope.
func testScopeRights(t *testing.T) {
	w := newWorld(t)
	w.User("reader", oamRights, may("example.com", writes, "bars"), may("core.oam.dev", []string{"get"}, "healthscopes"))
	w.write(healthScope)
	w.writeAs("reader", bare("db", 1))
	w.writeAs("reader", application("app", "componentName: db")+scopes)
	w.get("ApplicationConfiguration", "app", synced(w.NS+"-reader may not patch healthscopes.core.oam.dev"))
	w.get("HealthScope", "health", members(0))

	w.write(bare("other", 1))
	crowd := application("crowd", "componentName: other\n      scopes:")
	for _, name := range []string{"d", "a", "health", "c", "b"} {
		crowd += "\n        - scopeRef: {apiVersion: core.oam.dev/v1alpha2, kind: HealthScope, name: " + name + "}"
	}
	w.write(crowd)
	w.get("ApplicationConfiguration", "crowd", synced("waiting for scope HealthScope/a to be created; waiting for scope "+
		"HealthScope/b to be created; waiting for scope HealthScope/c to be created; waiting for scope HealthScope/d"))
	w.get("HealthScope", "health", members(1))
}
