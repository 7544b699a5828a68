package apply_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

const fieldOwner = "apply-test"

// world is a namespace with a parent. Its inventory is in the parent's data, as a
// pack's is in a status.
type world struct {
	t      *testing.T
	c      client.Client
	ns     string
	parent *corev1.ConfigMap
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, c: testenv.Client(t, nil), ns: testenv.Namespace(t)}
	w.reset()
	return w
}

// reset begins anew with another parent.
func (w *world) reset() {
	w.t.Helper()
	w.parent = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, GenerateName: "parent-"}}
	if err := w.c.Create(w.t.Context(), w.parent); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) owner() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: w.parent.Name, UID: w.parent.UID}
}

// inventory returns the recorded inventory.
func (w *world) inventory(ctx context.Context, c client.Client) ([]apply.Entry, error) {
	var parent corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKeyFromObject(w.parent), &parent); err != nil {
		return nil, err
	}
	var entries []apply.Entry
	text := parent.Data["inventory"]
	if text == "" {
		return nil, nil
	}
	return entries, json.Unmarshal([]byte(text), &entries)
}

func (w *world) record(ctx context.Context, c client.Client, entries []apply.Entry) error {
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"inventory": string(text)}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, w.parent.DeepCopy(), client.RawPatch("application/merge-patch+json", patch))
}

// snapshot is a view with the state of one moment.
type snapshot map[object.ID]*corev1.ConfigMap

func (s snapshot) Get(id object.ID, owner string) (apply.Observed, bool) {
	cm, ok := s[id]
	if !ok {
		return apply.Observed{}, false
	}
	return apply.Observe(cm, owner), true
}

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// look takes a view of the ConfigMaps of every namespace.
func (w *world) look() snapshot {
	w.t.Helper()
	var list corev1.ConfigMapList
	if err := w.c.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	s := snapshot{}
	for i := range list.Items {
		s[object.Of(&list.Items[i], configMaps.GroupKind())] = &list.Items[i]
	}
	return s
}

// life is one process: an applier with its own memory and connections.
type life struct {
	*world

	client client.Client
	clock  *clocktesting.FakePassiveClock
	skip   []object.ID
	apply.Applier
}

func (w *world) life(wrap func(http.RoundTripper) http.RoundTripper) *life {
	w.t.Helper()
	config := testenv.Config(w.t)
	config.QPS = -1
	if wrap != nil {
		config.Wrap(wrap)
	}
	l := &life{world: w, clock: clocktesting.NewFakePassiveClock(time.Now())}
	l.Clock = l.clock
	l.client = w.clientFor(config)
	l.Client, l.FieldOwner, l.View = l.client, fieldOwner, w.look()
	return l
}

func (w *world) clientFor(config *rest.Config) client.Client {
	w.t.Helper()
	c, err := client.New(config, client.Options{Mapper: w.c.RESTMapper()})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// run does the work of one reconciliation.
func (l *life) run(want ...apply.Object) (apply.Result, error) {
	ctx := l.t.Context()
	have, err := l.inventory(ctx, l.client)
	if err != nil {
		return apply.Result{}, err
	}
	result, err := l.Apply(ctx, apply.Request{
		Owner: l.owner(), Namespace: l.ns, Have: have, Want: want, Skip: l.skip,
		Record: func(ctx context.Context, entries []apply.Entry) error { return l.record(ctx, l.client, entries) },
	})
	return result, errors.Join(err, l.record(ctx, l.client, result.Inventory))
}

// must runs and expects success.
func (l *life) must(want ...apply.Object) apply.Result {
	l.t.Helper()
	result, err := l.run(want...)
	if err != nil {
		l.t.Fatal(err)
	}
	return result
}

// destroy does the work of a controller whose parent is being deleted.
func (l *life) destroy() (apply.Result, error) {
	ctx := l.t.Context()
	have, err := l.inventory(ctx, l.client)
	if err != nil {
		return apply.Result{}, err
	}
	result, err := l.Delete(ctx, l.owner(), have)
	return result, errors.Join(err, l.record(ctx, l.client, result.Inventory))
}

// configMap wants a ConfigMap with some data, given as key=value.
func (w *world) configMap(name string, wave int32, data ...string) apply.Object {
	content := map[string]any{}
	for _, d := range data {
		key, value, _ := strings.Cut(d, "=")
		content[key] = value
	}
	u := &unstructured.Unstructured{Object: map[string]any{"data": content}}
	u.SetGroupVersionKind(configMaps)
	u.SetNamespace(w.ns)
	u.SetName(name)
	return apply.Object{Unstructured: u, Wave: wave}
}

// state returns the objects of the parent, as name{key=value ...}.
func (w *world) state() string {
	w.t.Helper()
	var list corev1.ConfigMapList
	if err := w.c.List(w.t.Context(), &list, client.InNamespace(w.ns)); err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for i := range list.Items {
		cm := &list.Items[i]
		if !metav1.IsControlledBy(cm, w.parent) {
			continue
		}
		var data []string
		for key, value := range cm.Data {
			data = append(data, key+"="+value)
		}
		slices.Sort(data)
		lines = append(lines, fmt.Sprintf("%s{%s}", cm.Name, strings.Join(data, " ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// recorded tells the names and whether all have a uid.
func (w *world) recorded() string {
	w.t.Helper()
	entries, err := w.inventory(w.t.Context(), w.c)
	if err != nil {
		w.t.Fatal(err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name
		if e.UID == "" {
			name += "?"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func (w *world) get(name string) *corev1.ConfigMap {
	w.t.Helper()
	cm := &corev1.ConfigMap{}
	err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return cm
}

var errCrash = errors.New("the process has ended")

// crash lets a number of writes through and then ends the process: no further write is sent.
// With late, one more write is sent, and its answer is lost.
type crash struct {
	after int
	late  bool

	mu   sync.Mutex
	sent int  // writes whose answer has arrived
	lost bool // a further write was sent, and its answer was lost
	dead bool
	next http.RoundTripper
}

func (c *crash) wrap(next http.RoundTripper) http.RoundTripper {
	c.next = next
	return c
}

func (c *crash) RoundTrip(r *http.Request) (*http.Response, error) {
	send, answer := c.allow(r.Method != http.MethodGet)
	if !send {
		return nil, errCrash
	}
	response, err := c.next.RoundTrip(r)
	if !answer && err == nil {
		response.Body.Close()
		c.lost = true // Nothing else is sent any more.
		return nil, errCrash
	}
	return response, err
}

// allow says whether a request is sent and whether its answer arrives.
func (c *crash) allow(write bool) (send, answer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.dead:
		return false, false
	case !write:
		return true, true
	case c.sent < c.after:
		c.sent++
		return true, true
	default:
		c.dead = true
		return c.late, false
	}
}
