package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// card is an Adapter whose field text is spec.text. A card with the text "odd" can't be read.
type card struct {
	unstructured.Unstructured

	text string
}

// Adapt implements Adapter.
func (c *card) Adapt(u *unstructured.Unstructured) (client.Object, error) {
	text, _, err := unstructured.NestedString(u.Object, "spec", "text")
	if text == "odd" {
		err = errors.New("the text is odd")
	}
	return &card{*u, text}, err
}

// DeepCopyObject implements runtime.Object.
func (c *card) DeepCopyObject() runtime.Object { return &card{*c.DeepCopy(), c.text} }

var cardKind = schema.GroupVersionKind{Group: "cards.example", Version: "v1", Kind: "Card"}

func newCard(name, version, text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"text": text}}}
	u.SetGroupVersionKind(cardKind)
	u.SetNamespace("ns")
	u.SetName(name)
	u.SetUID(types.UID("uid-" + name))
	u.SetResourceVersion(version)
	return u
}

// cards is the source of Cards, whose API server answers with a list and then with events.
type cards struct {
	source *source
	list   *unstructured.UnstructuredList
	events *watch.FakeWatcher
	err    error
}

func newCards() *cards {
	c := &cards{list: &unstructured.UnstructuredList{}, events: watch.NewFakeWithChanSize(10, false)}
	c.list.SetResourceVersion("100")
	f := &Factory{Scheme: scheme.Scheme, Health: &Health{Log: logr.Discard()}}
	example := &card{}
	example.SetGroupVersionKind(cardKind)
	informer := f.New(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return c.list, c.err
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return c.events, c.err
		},
	}, example, 0, cache.Indexers{})
	c.source = informer.(sourced).source
	return c
}

func (c *cards) unreadable() int { return c.source.factory.Health.Unreadable(cardKind.GroupKind()) }

// read lists the cards of given texts, each with its text as name, and returns the texts that the informer gets.
func (c *cards) read(t *testing.T, texts ...string) []string {
	t.Helper()
	c.list.Items = nil
	for _, text := range texts {
		c.list.Items = append(c.list.Items, *newCard(text, "7", text))
	}
	list, err := c.source.list(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if accessor, err := meta.ListAccessor(list); err != nil || accessor.GetResourceVersion() != "100" {
		t.Errorf("the list is %v, %v", accessor, err)
	}
	got := []string{}
	if err := meta.EachListItem(list, func(obj runtime.Object) error {
		got = append(got, obj.(*card).text)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestAdapterList: a card that can't be read is left out and counted, until a list is without it.
func TestAdapterList(t *testing.T) {
	c := newCards()
	if diff := cmp.Diff([]string{"a", "b"}, c.read(t, "a", "odd", "b")); diff != "" || c.unreadable() != 1 {
		t.Errorf("%d unreadable; texts (-want +got):\n%s", c.unreadable(), diff)
	}
	c.list.SetContinue("more")
	if c.read(t, "a"); c.unreadable() != 1 {
		t.Error("a page of a list says nothing about the other pages")
	}
	c.list.SetContinue("")
	if c.read(t, "a"); c.unreadable() != 0 {
		t.Error("a card that does not exist is unreadable")
	}
	c.err = errDown
	if _, err := c.source.list(t.Context(), metav1.ListOptions{}); !errors.Is(err, errDown) {
		t.Errorf("error %v", err)
	}
	if err := c.source.factory.Health.Err(); err == nil || err.Error() != "Card.cards.example can't be watched: down" {
		t.Errorf("Health has %v", err)
	}
}

// TestAdapterWatch: a card that becomes unreadable keeps its last readable content, and its deletion is told.
func TestAdapterWatch(t *testing.T) {
	c := newCards()
	c.read(t, "a")
	known, err := (&card{}).Adapt(newCard("a", "7", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.source.store.Add(known); err != nil {
		t.Fatal(err)
	}
	w, err := c.source.watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := func() string {
		e := <-w.ResultChan()
		if status, ok := e.Object.(*metav1.Status); ok {
			return fmt.Sprintf("%s %s", e.Type, status.Message)
		}
		obj := e.Object.(*card)
		return fmt.Sprintf("%s %s/%s %s version %s text %q", e.Type, obj.GetNamespace(), obj.GetName(), obj.GetUID(),
			obj.GetResourceVersion(), obj.text)
	}
	replaced := newCard("a", "11", "odd")
	replaced.SetUID("uid-other")
	c.events.Modify(newCard("a", "8", "odd"))
	c.events.Add(newCard("never", "9", "odd")) // The informer never had the card, and hears nothing.
	c.events.Modify(newCard("a", "10", "new"))
	c.events.Add(replaced) // What the store has belongs to another card.
	c.events.Delete(newCard("never", "12", "odd"))
	c.events.Error(&metav1.Status{Message: "expired"})
	got := make([]string, 0, 4)
	got = append(got, next(), next())
	if c.unreadable() == 0 {
		t.Error("no card is unreadable")
	}
	got = append(got, next(), next())
	want := []string{
		`MODIFIED ns/a uid-a version 8 text "a"`, `MODIFIED ns/a uid-a version 10 text "new"`,
		`DELETED ns/never uid-never version 12 text ""`, "ERROR expired",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if c.unreadable() != 1 {
		t.Errorf("%d unreadable cards, want the one that replaced a", c.unreadable())
	}
	if obj, _, _ := c.source.store.GetByKey("ns/a"); obj.(*card).GetResourceVersion() != "7" {
		t.Error("the object of the store was changed")
	}
	w.Stop()
	c.err = errDown
	if _, err := c.source.watch(t.Context(), metav1.ListOptions{}); !errors.Is(err, errDown) {
		t.Errorf("error %v", err)
	}
}

// TestRecordEnded: an informer that was ended reports nothing, as its requests then fail in any case.
func TestRecordEnded(t *testing.T) {
	c := newCards()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.source.record(ctx, errDown)
	if err := c.source.factory.Health.Err(); err != nil {
		t.Errorf("Health has %v", err)
	}
}

// TestDecodeError: only an answer that arrived and that Go could not decode is read object by object.
func TestDecodeError(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"none":              {nil, false},
		"a wrong time":      {errors.New(`parsing time "x" as "2006"`), true},
		"a refusal":         {errNoRight, false},
		"a wrapped refusal": {fmt.Errorf("list: %w", errNoRight), false},
		"an old version":    {apierrors.NewResourceExpired("too old"), false},
		"no connection":     {&net.OpError{Op: "dial", Err: errors.New("refused")}, false},
		"a broken answer":   {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), false},
		"an empty answer":   {io.EOF, false},
		"cancelled":         {context.Canceled, false},
		"too late":          {fmt.Errorf("list: %w", context.DeadlineExceeded), false},
	} {
		if got := isDecodeError(c.err); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestFallible: only a custom kind with a Go type of its own may be unreadable.
func TestFallible(t *testing.T) {
	untyped := func(schema.GroupVersionKind, string) (cache.ListerWatcherWithContext, error) { return nil, nil }
	gvk := func(group string) schema.GroupVersionKind { return schema.GroupVersionKind{Group: group, Kind: "K"} }
	for name, c := range map[string]struct {
		example runtime.Object
		gvk     schema.GroupVersionKind
		untyped bool
		want    bool
	}{
		"a custom kind":         {&corev1.Pod{}, gvk("example.com"), true, true},
		"without Untyped":       {&corev1.Pod{}, gvk("example.com"), false, false},
		"the core group":        {&corev1.Pod{}, gvk(""), true, false},
		"apps":                  {&corev1.Pod{}, gvk("apps"), true, false},
		"a group of Kubernetes": {&discoveryv1.EndpointSlice{}, gvk("discovery.k8s.io"), true, false},
		"metadata":              {&metav1.PartialObjectMetadata{}, gvk("example.com"), true, false},
		"unstructured":          {&unstructured.Unstructured{}, gvk("example.com"), true, false},
		"an adapter":            {&card{}, cardKind, true, false},
	} {
		f := &Factory{}
		if c.untyped {
			f.Untyped = untyped
		}
		if got := (&source{factory: f, example: c.example, gvk: c.gvk}).fallible(); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// TestNoUntyped: a kind whose objects can't be read one by one says why.
func TestNoUntyped(t *testing.T) {
	odd := errors.New("an odd time")
	f := &Factory{Scheme: scheme.Scheme, Health: &Health{Log: logr.Discard()}, Untyped: Untyped(
		func(schema.GroupVersionKind) (dynamic.NamespaceableResourceInterface, error) { return nil, errDown })}
	s := f.New(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, odd },
	}, &corev1.Pod{}, 0, cache.Indexers{}).(sourced).source
	if _, err := s.list(t.Context(), metav1.ListOptions{}); !errors.Is(err, odd) {
		t.Errorf("a kind that always decodes: %v, want the error of the list", err)
	}
	s.gvk = cardKind
	_, err := s.list(t.Context(), metav1.ListOptions{})
	if want := "list objects of kind Card one by one: down"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// podSource returns a source of Pods.
func podSource() *source {
	return &source{
		factory: &Factory{Scheme: scheme.Scheme}, gvk: corev1.SchemeGroupVersion.WithKind("Pod"),
		example: &corev1.Pod{},
	}
}

// TestConvert: an object without an adapter becomes its Go type.
func TestConvert(t *testing.T) {
	s, u := podSource(), newCard("p", "7", "")
	got, err := s.convert(u)
	if pod, ok := got.(*corev1.Pod); err != nil || !ok || pod.Name != "p" || pod.ResourceVersion != "7" {
		t.Errorf("the object is %v, %v", got, err)
	}
	list, err := s.listOf([]runtime.Object{got}, &metav1.ListMeta{ResourceVersion: "9", Continue: "more"})
	all, ok := list.(*corev1.PodList)
	if err != nil || !ok || len(all.Items) != 1 || all.ResourceVersion != "9" || all.Continue != "more" {
		t.Errorf("the list is %v, %v", list, err)
	}
	obj, ok := s.metadataOf(u).(*corev1.Pod)
	if !ok || obj.Name != "p" || obj.UID != "uid-p" || obj.ResourceVersion != "7" {
		t.Errorf("the metadata are %v", obj)
	}
}

// TestConvertUnregistered: the conversion to a kind that the scheme lacks is an error.
func TestConvertUnregistered(t *testing.T) {
	s, u := podSource(), newCard("p", "7", "")
	s.gvk = cardKind
	if _, err := s.convert(u); !runtime.IsNotRegisteredError(err) {
		t.Errorf("a kind that the scheme lacks: %v", err)
	}
	if _, err := s.listOf(nil, &metav1.ListMeta{}); !runtime.IsNotRegisteredError(err) {
		t.Errorf("a list that the scheme lacks: %v", err)
	}
	if obj := s.metadataOf(u); obj != nil {
		t.Errorf("the metadata of a kind that the scheme lacks: %v", obj)
	}
}
