package guard_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks())
}

var (
	configMap = schema.GroupKind{Kind: "ConfigMap"}
	secret    = schema.GroupKind{Kind: "Secret"}
	podKind   = schema.GroupKind{Kind: "Pod"}
)

// startWatcher starts a Watcher of ConfigMaps. freeze stops the Watcher: its stores then keep
// their last state for ever, like a very late cache.
func startWatcher(t *testing.T, on ...func(*relation.Watcher)) (w *relation.Watcher, freeze func()) {
	t.Helper()
	w, err := relation.NewWatcher(testenv.Config(t), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range on {
		f(w)
	}
	w.Use(object.ID{Kind: "Test"}, configMap)
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() { returned <- w.Start(ctx) }()
	freeze = sync.OnceFunc(func() {
		cancel()
		if err := <-returned; err != nil {
			t.Errorf("the watcher failed: %v", err)
		}
	})
	t.Cleanup(freeze)
	testenv.Eventually(t, func() error {
		if _, presence := w.Get(object.ID{Kind: "ConfigMap", Namespace: "no", Name: "such"}); presence != relation.Absent {
			return fmt.Errorf("ConfigMaps have not been read: %w", w.Problem(configMap))
		}
		return nil
	})
	return w, freeze
}

// counter counts the requests of a client. Unlike the API server, counter has counted a request
// when its answer arrives.
type counter struct {
	http.RoundTripper

	sent atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// since returns how many requests there were since an earlier number.
func (c *counter) since(before int64) int { return int(c.sent.Load() - before) }

func metadataClient(t *testing.T) (metadata.Interface, *counter) {
	t.Helper()
	config, count := testenv.Config(t), &counter{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		count.RoundTripper = next
		return count
	})
	c, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c, count
}
