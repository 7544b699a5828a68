package oam_test

import (
	"strings"
	"testing"
)

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

// testClusterScope: no right in a namespace lets a workload into a scope outside of all namespaces.
func testClusterScope(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: ScopeDefinition
metadata: {name: clusterroles.rbac.authorization.k8s.io}
spec:
  allowComponentOverlap: true
  definitionRef: {name: clusterroles.rbac.authorization.k8s.io}
  workloadRefsPath: spec.refs`)
	w.User("tenant", oamRights, may("example.com", writes, "bars"), may("rbac.authorization.k8s.io", writes, "clusterroles"))
	w.writeAs("tenant", bare("db", 1))
	w.writeAs("tenant", application("app", "componentName: db")+`
      scopes: [{scopeRef: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: cluster-admin}}]`)
	w.get("ApplicationConfiguration", "app", synced("ClusterRole is cluster-scoped"))
}

// testBadScopePath: a path that does not lead to a list keeps workloads out of a scope, and holds no
// application that is deleted.
func testBadScopePath(t *testing.T) {
	w := newWorld(t)
	w.write(bare("db", 1))
	for kind, path := range map[string]string{"StatefulSet": "metadata.namespace", "DaemonSet": "spec.revisionHistoryLimit"} {
		resource, name := strings.ToLower(kind)+"s.apps", strings.ToLower(kind)
		w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: ScopeDefinition
metadata: {name: ` + resource + `}
spec:
  allowComponentOverlap: true
  definitionRef: {name: ` + resource + `}
  workloadRefsPath: ` + path + `
---
apiVersion: apps/v1
kind: ` + kind + `
metadata: {name: scope}
spec:
  revisionHistoryLimit: 2
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}`)
		w.write(application(name, "componentName: db") + `
      scopes: [{scopeRef: {apiVersion: apps/v1, kind: ` + kind + `, name: scope}}]`)
		w.get("ApplicationConfiguration", name, synced(path))
		w.Delete(w.blank("ApplicationConfiguration", name))
		w.gone("ApplicationConfiguration", name)
		w.gone("Bar", "db")
	}
}
