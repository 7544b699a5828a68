package security_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/doctor"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestEmptyRole takes all rules out of the ClusterRole of each pack in turn. The pack can't write a condition then:
// the metric, the log and kinship doctor name the pack and its rights. The other packs go on.
func TestEmptyRole(t *testing.T) {
	if err := operator.Start(t, everyPack).Stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range options.PackNames() {
		t.Run(name, func(t *testing.T) {
			l := newLand(t)
			before := l.emptyRole(name)
			o := operator.Start(t, everyPack, func(o *options.Options) { o.Install, o.Adopt = false, false })
			l.packsWork(name)
			testenv.Eventually(t, func() error { return isTold(t, o.Log(), name) })
			for series := range operator.Metrics(t, "kinship_watch_failing", "pack", "kind") {
				if !strings.HasPrefix(series, name+" ") {
					t.Errorf("%s can't be watched either", series)
				}
			}
			l.doctorNames(name)
			l.giveBack([]rbacv1.ClusterRole{before})
			if name != "usage" {
				l.Delete(l.secret("using"), l.usage("usage"))
			}
			if err := o.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// emptyRole empties the ClusterRole of a pack, and returns the ClusterRole as it was.
func (l land) emptyRole(packName string) rbacv1.ClusterRole {
	l.T.Helper()
	var role rbacv1.ClusterRole
	if err := l.C.Get(l.T.Context(), client.ObjectKey{Name: options.AccountOf(packName)}, &role); err != nil {
		l.T.Fatal(err)
	}
	before := *role.DeepCopy()
	role.Rules = nil
	if err := l.C.Update(l.T.Context(), &role); err != nil {
		l.T.Fatal(err)
	}
	l.awaitRights(options.OperatorOf(packName), false, before.Rules...)
	return before
}

// packsWork waits until each pack with objects of its own, but for one, has handled a new object.
func (l land) packsWork(but string) {
	l.T.Helper()
	if but != "usage" {
		l.Create(l.configMap("used"), l.secret("using"))
		u := l.usage("usage")
		l.Create(u)
		l.awaitReady(u)
	}
	if but != "iot" {
		l.connectorReconciles()
	}
	if but != "openstack" {
		l.uncredited("Image", "runs", `{content: {diskFormat: raw, download: {url: "https://example.com/disk"}}}`)
		testenv.Eventually(l.T, func() error { return l.observed("Image", "runs") })
	}
	if but != "oam" {
		testenv.Apply(l.T, `
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: app}
spec: {components: [{componentName: missing}]}
`, testenv.In(l.NS))
		testenv.Eventually(l.T, func() error { return l.observed("ApplicationConfiguration", "app") })
	}
}

// isTold returns nil if a metric and the log say that a pack lacks rights.
func isTold(t *testing.T, log, packName string) error {
	t.Helper()
	failing := operator.Metrics(t, "kinship_watch_failing", "pack", "kind")
	if len(failing) == 0 {
		return fmt.Errorf("no kind is counted as failing")
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "is forbidden") && strings.Contains(line, options.OperatorOf(packName)) {
			return nil
		}
	}
	return fmt.Errorf("the log does not say which right of pack %s is missing", packName)
}

// doctorNames checks that kinship doctor names the ClusterRole of a pack, and no other.
func (l land) doctorNames(packName string) {
	l.T.Helper()
	report, err := doctor.Examine(l.T.Context(), options.Options{Config: testenv.Config(l.T)}, time.Now())
	if err != nil {
		l.T.Fatal(err)
	}
	findings := 0
	for _, check := range report.Checks {
		if check.Name != "rights" {
			continue
		}
		for _, f := range check.Findings {
			findings++
			if f.Reason != "RightMissing" || f.Object.Name != options.AccountOf(packName) {
				l.T.Errorf("finding %s %s: %s", f.Reason, f.Object, f.Message)
			}
		}
	}
	if findings == 0 {
		l.T.Error("doctor finds no missing right")
	}
}
