package oam_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// cut loses the answer to one write of an operator in a namespace, and refuses all later requests there, as
// if the operator was killed after that write.
type cut struct {
	namespace string
	left      atomic.Int64 // writes until the cut
}

// meddle is for an operator.Proxy.
func (c *cut) meddle(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	if !strings.Contains(r.URL.Path, "/namespaces/"+c.namespace+"/") {
		return false
	}
	if c.isDone() {
		operator.Answer(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		return true
	}
	if r.Method == http.MethodGet || c.left.Add(-1) > 0 {
		return false
	}
	next.ServeHTTP(httptest.NewRecorder(), r)
	operator.Answer(w, http.StatusServiceUnavailable, "ServiceUnavailable")
	return true
}

func (c *cut) isDone() bool { return c.left.Load() <= 0 }

// killed is the life of an application whose operator is killed after one write.
type killed struct {
	*world

	cut      *cut
	operator *operator.Operator
	again    bool // Another operator runs.
}

// TestKilledAtEachWrite kills the operator after each write in the life of an application in turn, without
// the answer to that write. The next operator goes on: nothing is doubled, and nothing is left.
// KINSHIP_MANY tries all writes, else the test tries every seventh.
func TestKilledAtEachWrite(t *testing.T) {
	if err := operator.Start(t, testKinds).Stop(); err != nil { // The kinds are installed.
		t.Fatal(err)
	}
	define(t)
	stride := max(1, 7-6*testenv.Many(10)/10)
	for n := 1; ; n += stride {
		k := &killed{world: newWorld(t)}
		k.cut = &cut{namespace: k.NS}
		k.cut.left.Store(int64(n))
		proxy := operator.NewProxy(t)
		proxy.Set(k.cut.meddle)
		k.operator = operator.Start(t, testKinds, proxy.Through)
		k.live()
		if err := k.operator.Stop(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("killed after write %d", n)
		}
		if !k.cut.isDone() {
			t.Logf("the life takes %d writes", n-int(k.cut.left.Load()))
			return
		}
	}
}

// live creates, changes and deletes an application.
func (k *killed) live() {
	k.T.Helper()
	k.write(healthScope)
	k.write(webComponent)
	k.write(bare("db", 1))
	k.write(webApplication + scopes + "\n    - componentName: db" + barTrait)
	k.sees("Deployment", "example", field(3, "spec", "replicas"))
	k.sees("Bar", "db-v1", field(1, "spec", "key"))
	k.sees("ApplicationConfiguration", "app", synced(""))
	k.sees("HealthScope", "health", members(1))
	k.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
	k.sees("Bar", "db-v2", field(2, "spec", "key"))
	k.sees("ApplicationConfiguration", "app", synced(""))
	for kind, want := range map[string]int{
		"Deployment": 1, "Service": 1, "Bar": 2, "BarTrait": 1, "ManualScalerTrait": 1, "ContainerizedWorkload": 1,
		"ControllerRevision": 3,
	} {
		k.holds(kind, want)
	}
	k.Delete(k.blank("ApplicationConfiguration", "app"))
	k.sees("HealthScope", "health", members(0))
	k.until(func() error { return k.absent("ApplicationConfiguration", "app") })
	for _, kind := range []string{"Deployment", "Service", "Bar", "BarTrait", "ManualScalerTrait", "ContainerizedWorkload"} {
		k.holds(kind, 0)
	}
}

// until waits for a condition. When the operator is killed, another one starts.
func (k *killed) until(condition func() error) {
	k.T.Helper()
	testenv.Eventually(k.T, func() error {
		if k.cut.isDone() && !k.again {
			k.again = true
			if err := k.operator.Stop(); err != nil {
				return err
			}
			k.operator = operator.Start(k.T, testKinds)
		}
		return condition()
	})
}

func (k *killed) sees(kind, name string, meets func(*unstructured.Unstructured) error) {
	k.T.Helper()
	k.until(func() error {
		u := k.blank(kind, name)
		if err := k.Read(u); err != nil {
			return err
		}
		return meets(u)
	})
}

func (k *killed) absent(kind, name string) error {
	err := k.Read(k.blank(kind, name))
	if err == nil {
		return errors.New(name + " exists")
	}
	return client.IgnoreNotFound(err)
}
