package testenv_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.CRDs("testdata/crd"), testenv.CheckLeaks())
}

// TestReadyTime prints how long a test binary waits: 5 to 6 seconds on an idle machine. It runs
// first because only the first test waits.
func TestReadyTime(t *testing.T) {
	begin := time.Now()
	testenv.Config(t)
	t.Logf("ready after %s", time.Since(begin).Round(time.Millisecond))
}

func TestNamespace(t *testing.T) {
	var name string
	t.Run("Made_for_THIS test", func(t *testing.T) {
		name = testenv.Namespace(t)
		if !strings.HasPrefix(name, "testnamespace-made-for-this-test-") {
			t.Errorf("namespace %s does not name its test", name)
		}
		if second := testenv.Namespace(t); second == name {
			t.Errorf("both namespaces are %s", name)
		}
	})
	c := testenv.Client(t, nil)
	testenv.Eventually(t, func() error {
		return isGone(c.Get(t.Context(), client.ObjectKey{Name: name}, &corev1.Namespace{}))
	})
}

// isGone turns the answer of a Get around.
func isGone(err error) error {
	if err == nil {
		return fmt.Errorf("it is still there")
	}
	return client.IgnoreNotFound(err)
}

const workload = `
# A comment before the first document makes no object.
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: none}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
`

func TestApply(t *testing.T) {
	namespace := testenv.Namespace(t)
	objects := testenv.Apply(t, workload, testenv.In(namespace))
	got := make([]string, 0, len(objects))
	for _, object := range objects {
		got = append(got, object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName())
		if object.GetUID() == "" {
			t.Errorf("%s %s is not what the API server answered", object.GetKind(), object.GetName())
		}
	}
	want := []string{"ConfigMap " + namespace + "/settings", "Deployment " + namespace + "/web", "Namespace /default"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	c := testenv.Client(t, nil)
	web := objects[1]
	testenv.Eventually(t, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
			return err
		}
		if n, _, _ := unstructured.NestedInt64(web.Object, "status", "availableReplicas"); n != 2 {
			return fmt.Errorf("%d replicas are available", n)
		}
		return nil
	})
}

func TestApplyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	text := "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: " + testenv.Namespace(t) + "}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if objects := testenv.ApplyFile(t, path); len(objects) != 1 {
		t.Errorf("applied %d objects, want 1", len(objects))
	}
}

// TestCRDs: the garbage collector knows the installed kinds from the start; a kind that is
// installed later would be known only after up to 30 seconds.
func TestCRDs(t *testing.T) {
	namespace := testenv.Namespace(t)
	c := testenv.Client(t, nil)
	owner := testenv.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`, testenv.In(namespace))[0]
	owned := testenv.Apply(t, fmt.Sprintf(`
apiVersion: test.kinship.dev/v1
kind: Widget
metadata:
  name: owned
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s}]
spec: {size: 1000000000}
`, owner.GetUID()), testenv.In(namespace))[0]
	if err := c.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	testenv.EventuallyWithin(t, 25*time.Second, func() error {
		return isGone(c.Get(t.Context(), client.ObjectKeyFromObject(owned), owned))
	})
}

func TestAs(t *testing.T) {
	namespace := testenv.Namespace(t)
	const text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}`
	cases := map[string]struct {
		reason  string
		groups  []string
		allowed bool
	}{
		"nobody": {"a user without a grant is refused", nil, false},
		"master": {"groups count", []string{"system:masters"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			config := testenv.As(t, "alice", c.groups...)
			_, err := testenv.TryApply(t, text, testenv.In(namespace), testenv.With(config))
			if c.allowed != (err == nil) || (err != nil && !apierrors.IsForbidden(err)) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
}

func TestKubeconfig(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", testenv.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(testenv.Config(t).Host, config.Host); diff != "" {
		t.Errorf("host (-want +got):\n%s", diff)
	}
}

const gadgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.test.kinship.dev}
spec:
  group: test.kinship.dev
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object}}
`

// TestRequests counts requests for a kind that no other test uses: requests of the garbage
// collector for another test are counted a moment later.
func TestRequests(t *testing.T) {
	namespace := testenv.Namespace(t)
	testenv.Apply(t, gadgetCRD)
	c := testenv.Client(t, nil)
	before := testenv.Requests(t)
	testenv.Apply(t, `{apiVersion: test.kinship.dev/v1, kind: Gadget, metadata: {name: g}}`, testenv.In(namespace))
	gadgets := &unstructured.UnstructuredList{}
	gadgets.SetAPIVersion("test.kinship.dev/v1")
	gadgets.SetKind("GadgetList")
	if err := c.List(t.Context(), gadgets, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	counts := testenv.Requests(t).Since(before).Of("test.kinship.dev", "gadgets")
	want := testenv.Counts{{Verb: "APPLY", Group: "test.kinship.dev", Resource: "gadgets", Code: "201"}: 1}
	if diff := cmp.Diff(want, counts.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	reads := counts.Where(func(r testenv.Request) bool { return r.Verb == "LIST" })
	if reads.Total() < 1 {
		t.Errorf("no list among:\n%s", counts)
	}
}

// TestCluster is last in the file because it disturbs the other tests.
func TestCluster(t *testing.T) {
	cluster := testenv.Cluster(t)
	if err := cluster.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	testenv.Namespace(t)
	if cluster.PID(localcluster.Kwok) == 0 {
		t.Error("kwok does not run")
	}
}
