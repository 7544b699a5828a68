package lineage_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func deployment(replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: none}]}
`, replicas)
}

func awaitPods(t *testing.T, namespace string, n int) {
	t.Helper()
	c := testenv.Client(t, nil)
	testenv.Eventually(t, func() error {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		running := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
			return !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
		})
		if len(running) != n {
			return fmt.Errorf("%d of %d pods are ready", len(running), n)
		}
		return nil
	})
}

// counter counts the requests that a configuration is used for, by path.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

func countRequests(config *rest.Config) *counter {
	c := &counter{seen: map[string]int{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{c, next} })
	return c
}

type transport struct {
	*counter
	next http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.seen[r.URL.Path]++
	t.mu.Unlock()
	return t.next.RoundTrip(r)
}

func (c *counter) counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.seen)
}

func (c *counter) total() int {
	total := 0
	for _, n := range c.counts() {
		total += n
	}
	return total
}

func (c *counter) String() string {
	return strings.Join(slices.Sorted(maps.Keys(c.counts())), "\n")
}

// held applies objects, and takes their finalizers off after the test.
func held(t *testing.T, namespace, text string) []*unstructured.Unstructured {
	t.Helper()
	c := testenv.Client(t, nil)
	objects := testenv.Apply(t, text, testenv.In(namespace))
	t.Cleanup(func() {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		for _, obj := range objects {
			if err := c.Patch(context.WithoutCancel(t.Context()), obj, patch); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
	})
	return objects
}

// forgetful is an API server that forgets the continue tokens of lists.
type forgetful struct{ next http.RoundTripper }

func (f forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("continue") == "" {
		return f.next.RoundTrip(r)
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone, Request: r, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}
