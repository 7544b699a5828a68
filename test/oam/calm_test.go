package oam_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testCalm watches an object of each kind with a status from its creation, through changes of Component and
// application, to its end. While nothing is wrong, Synced stays True. Each change is followed by at most two writes of
// the application, of the workload and of the trait. A HealthScope counts the Pods, and has a write whenever the number
// changes.
func testCalm(t *testing.T) {
	w := newWorld(t)
	names := map[string]string{
		"ApplicationConfiguration": "app", "Component": "web", "ContainerizedWorkload": "example",
		"ManualScalerTrait": "scaler", "HealthScope": "health",
	}
	watched, versions := map[string]*testenv.Versions{}, map[string][]*unstructured.Unstructured{}
	for kind, name := range names {
		watched[kind] = testenv.WatchVersions(t, w.C, w.blank(kind, name).GroupVersionKind(), w.NS, name)
	}
	component, application := webComponent, webApplication
	w.write(component)
	w.write(healthScope)
	w.write(application + scopes)
	const noScope = "\n      scopes: []"
	for _, c := range []struct{ old, now, scopes string }{
		{"", "", scopes},
		{"wordpress:php7.3", "wordpress:php8.0", scopes},
		{"replicaCount: 3", "replicaCount: 2", scopes},
		{"value: test-value", "value: another-value", scopes},
		{"containerPort: 80", "containerPort: 8080", scopes},
		{"containerized-workload", "changed", scopes},
		{"", "", noScope},
		{"", "", scopes},
	} {
		component, application = strings.ReplaceAll(component, c.old, c.now), strings.ReplaceAll(application, c.old, c.now)
		w.write(component)
		w.write(application + c.scopes)
		w.holdsApplication(component, application, c.scopes == scopes)
		for kind, name := range names {
			now := watched[kind].Until(w.get(kind, name, nil).GetResourceVersion())
			isFirst := len(versions[kind]) == 0
			if versions[kind] = append(versions[kind], now...); !isFirst && len(now) > 3 && kind != "HealthScope" {
				t.Errorf("%s: %d versions after %q became %q, with the one of the change", kind, len(now), c.old, c.now)
			}
		}
	}
	for _, kind := range []string{"ApplicationConfiguration", "Component", "HealthScope"} {
		w.Delete(w.blank(kind, names[kind]))
	}
	for kind, one := range watched {
		for _, text := range testenv.Relapses(append(versions[kind], one.UntilDeleted()...), "Synced") {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

// holdsApplication waits until webComponent and webApplication, changed or not, are carried out.
func (w *world) holdsApplication(component, application string, isScoped bool) {
	w.T.Helper()
	text := func(from, pattern string) string {
		w.T.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(from)
		if found == nil {
			w.T.Fatalf("no %s in %s", pattern, from)
		}
		return found[1]
	}
	w.get("ContainerizedWorkload", "example", field(text(application, "labels: {workload: ([a-z-]+)}"), "metadata", "labels", "workload"))
	w.get("Deployment", "example", field(text(application, `replicaCount: (\d)`), "spec", "replicas"))
	w.get("Deployment", "example", mentions(text(application, `name: image, value: ([^}]+)`), text(component, `containerPort: (\d+)`)))
	w.get("ConfigMap", "example-wordpress-3972676475", field(text(component, "path: /test/path/config, value: ([a-z-]+)"), "data", "config"))
	n := 0
	if isScoped {
		n = 1
	}
	w.get("HealthScope", "health", members(n))
	for kind, name := range map[string]string{
		"ApplicationConfiguration": "app", "Component": "web", "ContainerizedWorkload": "example", "ManualScalerTrait": "scaler",
	} {
		w.get(kind, name, synced(""))
	}
}

// mentions is a condition that a container of a Deployment has an image and a port.
func mentions(image, port string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
		if text := fmt.Sprint(containers); !strings.Contains(text, image) || !strings.Contains(text, "containerPort:"+port) {
			return fmt.Errorf("containers are %s, want %s and port %s", text, image, port)
		}
		return nil
	}
}
