package watch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// narrow is a cache of two namespaces, whose account may read Diaries there and nowhere else.
type narrow struct {
	t       *testing.T
	in      [2]string
	config  *rest.Config
	scheme  *runtime.Scheme
	mapper  meta.RESTMapper
	health  *watch.Health
	cache   cache.Cache
	diaries watch.Store
}

func newNarrow(t *testing.T) *narrow {
	t.Helper()
	testenv.Apply(t, definition)
	n := &narrow{t: t, in: [2]string{testenv.Namespace(t), testenv.Namespace(t)}, scheme: runtime.NewScheme()}
	n.scheme.AddKnownTypes(diaries, &Diary{}, &DiaryList{})
	metav1.AddToGroupVersion(n.scheme, diaries)
	if err := scheme.AddToScheme(n.scheme); err != nil {
		t.Fatal(err)
	}
	c := testenv.Client(t, n.scheme)
	n.mapper = c.RESTMapper()
	user := n.in[0] + "-reader"
	rules := []rbacv1.PolicyRule{{
		APIGroups: []string{diaries.Group}, Resources: []string{"diaries"}, Verbs: []string{"list", "watch"},
	}}
	for _, namespace := range n.in {
		at := metav1.ObjectMeta{Namespace: namespace, Name: "reader"}
		for _, obj := range []client.Object{
			&rbacv1.Role{ObjectMeta: at, Rules: rules},
			&rbacv1.RoleBinding{
				ObjectMeta: at, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			},
		} {
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		testenv.AwaitRights(t, user, namespace, true, rules...)
	}
	n.config = testenv.As(t, user)
	return n
}

// start makes the cache and starts it. The returned function stops the cache.
func (n *narrow) start() (stop func()) {
	n.t.Helper()
	n.health = &watch.Health{Log: logr.Discard()}
	objects, err := dynamic.NewForConfig(n.config)
	if err != nil {
		n.t.Fatal(err)
	}
	factory := &watch.Factory{Scheme: n.scheme, Health: n.health, Untyped: watch.Untyped(
		func(schema.GroupVersionKind) (dynamic.NamespaceableResourceInterface, error) {
			return objects.Resource(diaries.WithResource("diaries")), nil
		})}
	trim := func(obj any) (any, error) {
		obj.(*Diary).ManagedFields = nil
		return obj, nil
	}
	n.cache, err = watch.NewCache(cache.Options{
		Scheme: n.scheme, Mapper: n.mapper, NewInformer: factory.New,
		ByObject:         map[client.Object]cache.ByObject{},
		DefaultTransform: trim,
	}, func(options cache.Options) (cache.Cache, error) { return cache.New(n.config, options) }, n.in[:]...)
	if err != nil {
		n.t.Fatal(err)
	}
	if n.diaries, err = watch.Open(n.t.Context(), n.cache, diaries.WithKind("Diary").GroupKind(), &Diary{}); err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.cache.Start(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			n.t.Error(err)
		}
	}
}

// reads waits until the cache holds the named Diaries, as namespace index and name, and counts the
// unreadable ones.
func (n *narrow) reads(unreadable int, want ...string) {
	n.t.Helper()
	testenv.EventuallyWithin(n.t, patience, func() error {
		got := n.names(n.diaries.GetStore().List())
		failing := n.health.Unreadable(diaries.WithKind("Diary").GroupKind())
		if !slices.Equal(got, want) || failing != unreadable {
			return fmt.Errorf("the cache holds %v, want %v; %d Diaries can't be read, want %d: %w",
				got, want, failing, unreadable, cmp.Or(n.health.Err(), errors.New("no kind fails")))
		}
		return nil
	})
}

func (n *narrow) names(held []any) []string {
	got := make([]string, 0, len(held))
	for _, obj := range held {
		d := obj.(*Diary)
		if len(d.ManagedFields) > 0 {
			n.t.Errorf("Diary %s was not trimmed", d.Name)
		}
		got = append(got, fmt.Sprint(slices.Index(n.in[:], d.Namespace), "/", d.Name))
	}
	slices.Sort(got)
	return got
}

func (n *narrow) write(namespace int, name, when string) {
	n.t.Helper()
	testenv.Apply(n.t, fmt.Sprintf("{apiVersion: %s, kind: Diary, metadata: {name: %s}, time: %q}", diaries, name, when),
		testenv.In(n.in[namespace]))
}

// TestNamespacesUnreadable: an unreadable Diary keeps a cache of two namespaces from no other Diary,
// also when the cache starts beside the unreadable one. The account has no right to list the
// Diaries of all namespaces.
func TestNamespacesUnreadable(t *testing.T) {
	n := newNarrow(t)
	stop := n.start()
	n.write(0, "fine", goodTime)
	n.write(1, "fine", goodTime)
	n.reads(0, "0/fine", "1/fine")
	n.write(0, "odd", oddTime)
	n.reads(1, "0/fine", "1/fine")
	n.write(0, "later", goodTime)
	n.write(1, "later", goodTime)
	n.reads(1, "0/fine", "0/later", "1/fine", "1/later")
	stop()
	n.write(1, "odd", oddTime)
	stop = n.start()
	n.reads(2, "0/fine", "0/later", "1/fine", "1/later")
	n.write(0, "odd", goodTime)
	n.write(1, "odd", goodTime)
	n.reads(0, "0/fine", "0/later", "0/odd", "1/fine", "1/later", "1/odd")
	stop()
}

// TestNamespacesStore: the informers of two namespaces read as one store.
func TestNamespacesStore(t *testing.T) {
	n := newNarrow(t)
	n.write(0, "a", goodTime)
	n.write(1, "a", goodTime)
	defer n.start()()
	n.reads(0, "0/a", "1/a")
	store := n.diaries.GetIndexer()
	keys := []string{n.in[0] + "/a", n.in[1] + "/a"}
	got := store.ListKeys()
	slices.Sort(got)
	slices.Sort(keys)
	if diff := gocmp.Diff(keys, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for i, namespace := range n.in {
		item, exists, err := store.GetByKey(namespace + "/a")
		if err != nil || !exists || item.(*Diary).Namespace != namespace {
			t.Errorf("key in namespace %d: %v, %t, %v", i, item, exists, err)
		}
		item, exists, err = store.Get(&Diary{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}})
		if err != nil || !exists || item.(*Diary).Namespace != namespace {
			t.Errorf("object in namespace %d: %v, %t, %v", i, item, exists, err)
		}
		found, err := store.ByIndex(toolscache.NamespaceIndex, namespace)
		if err != nil || !slices.Equal(n.names(found), []string{fmt.Sprint(i, "/a")}) {
			t.Errorf("index of namespace %d: %v, %v", i, found, err)
		}
	}
	if _, exists, err := store.GetByKey(n.in[0] + "/b"); exists || err != nil {
		t.Errorf("a Diary that does not exist: %t, %v", exists, err)
	}
	if _, err := store.ByIndex("none", "x"); err == nil {
		t.Error("an index that does not exist")
	}
}

// TestNamespacesOpen: a cache of some namespaces has one informer for a kind without a namespace.
func TestNamespacesOpen(t *testing.T) {
	n := newNarrow(t)
	n.config = testenv.Config(t)
	options := cache.Options{Scheme: n.scheme, Mapper: n.mapper}
	c, err := watch.NewCache(options, func(o cache.Options) (cache.Cache, error) {
		return cache.New(n.config, o)
	}, n.in[:]...)
	if err != nil {
		t.Fatal(err)
	}
	kind := corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()
	store, err := watch.Open(t.Context(), c, kind, &corev1.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	testenv.Eventually(t, func() error {
		for _, name := range []string{n.in[0], "default"} {
			if _, exists, _ := store.GetStore().GetByKey(name); !exists {
				return fmt.Errorf("Namespace %s is missing among %s", name, strings.Join(store.GetStore().ListKeys(), " "))
			}
		}
		return nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
