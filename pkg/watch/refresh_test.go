package watch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// answers is a discovery that answers as a test says, and counts its calls.
type answers struct {
	discovery.DiscoveryInterfaceWithContext

	groups    []*metav1.APIGroup
	resources []*metav1.APIResourceList
	err       error
	calls     int
}

// ServerGroupsAndResourcesWithContext implements discovery.ServerResourcesInterfaceWithContext.
func (a *answers) ServerGroupsAndResourcesWithContext(
	context.Context,
) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	a.calls++
	return a.groups, a.resources, a.err
}

// newAnswers returns a discovery with the group of served.
func newAnswers() *answers {
	group, resources := served()
	return &answers{groups: []*metav1.APIGroup{group}, resources: resources}
}

// partly is the error of a group whose API server does not answer.
func partly(gv schema.GroupVersion) error {
	return &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{gv: errors.New("down")}}
}

var (
	widgetKind = schema.GroupKind{Group: "g", Kind: "Widget"}
	gadgetKind = schema.GroupKind{Group: "g", Kind: "Gadget"}
)

// TestRefresh: a failure leaves the snapshot as before, and a group that does not answer keeps its kinds.
func TestRefresh(t *testing.T) {
	api := newAnswers()
	c := NewCatalog(api, nil)
	refresh := func(want string) {
		t.Helper()
		err := c.Refresh(t.Context())
		if (err == nil) != (want == "") || (err != nil && err.Error() != want) {
			t.Fatalf("error %v, want %q", err, want)
		}
	}
	if c.Silent() != nil || c.Silence("g") != nil || c.Served() != nil {
		t.Error("a catalog without a snapshot knows something")
	}
	if _, ok := c.Kind(widgetKind); ok {
		t.Error("a catalog without a snapshot has a kind")
	}
	refresh("")
	api.err = errors.New("no answer")
	refresh("read what kinds the cluster serves: no answer")
	if _, ok := c.Kind(widgetKind); !ok {
		t.Error("a failure took the kinds away")
	}
	v3 := schema.GroupVersion{Group: "g", Version: "v3"}
	api.err, api.resources = partly(v3), api.resources[:2]
	refresh("")
	if k, ok := c.Kind(gadgetKind); !ok || k.Resource.GroupVersion() != v3 || c.Silent()[v3] == nil {
		t.Errorf("Gadget of the silent version: %v, %t; silent is %v", k, ok, c.Silent())
	}
	c.Silent()[schema.GroupVersion{Group: "other"}] = errors.New("of the caller")
	if c.Silence("other") != nil {
		t.Error("the map of Silent belongs to the catalog")
	}
	api.err = nil
	refresh("")
	if _, ok := c.Kind(gadgetKind); ok || len(c.Silent()) > 0 {
		t.Errorf("a version that answers again without Gadget keeps it; silent is %v", c.Silent())
	}
}

// TestRefreshTurns: a Refresh waits for the Refresh before, and ends with its context.
func TestRefreshTurns(t *testing.T) {
	api := newAnswers()
	c := NewCatalog(api, nil)
	if err := c.turn.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := c.Refresh(ctx)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "wait to read what kinds") || api.calls > 0 {
		t.Errorf("error %v after %d calls", err, api.calls)
	}
	c.turn.Release(1)
	if err := c.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKind: a Kind has its names in the preferred version, and its subresources.
func TestKind(t *testing.T) {
	api := newAnswers()
	api.resources[1].APIResources[0].SingularName = "widget"
	api.resources[1].APIResources[0].ShortNames = []string{"wd"}
	api.resources = append(api.resources,
		&metav1.APIResourceList{GroupVersion: "not/a/version", APIResources: []metav1.APIResource{
			{Name: "bads", Kind: "Bad", Verbs: metav1.Verbs{"list", "watch"}},
		}})
	api.groups[0].Versions = append(api.groups[0].Versions, metav1.GroupVersionForDiscovery{GroupVersion: "not/a/version"})
	c := NewCatalog(api, nil)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	k, ok := c.Kind(widgetKind)
	if diff := cmp.Diff([]string{"widgets", "widget", "widget", "wd"}, k.Names); !ok || diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if k.Resource.Version != "v2" || !k.HasStatus || k.HasScale {
		t.Errorf("version %s, status %t, scale %t", k.Resource.Version, k.HasStatus, k.HasScale)
	}
	if k, _ := c.Kind(gadgetKind); k.HasStatus || k.Resource.Version != "v3" {
		t.Errorf("Gadget has a status in version %s", k.Resource.Version)
	}
	if n := len(c.Served()); n != 2 {
		t.Errorf("%d kinds: %v", n, c.Served())
	}
	c.Served()[0].Kind = "changed by the caller"
	if _, ok := c.Kind(widgetKind); !ok {
		t.Error("the slice of Served belongs to the catalog")
	}
}

// TestUnansweredError: the error says that nobody knows, and why.
func TestUnansweredError(t *testing.T) {
	api := newAnswers()
	api.groups, api.resources, api.err = nil, nil, partly(schema.GroupVersion{Group: "g", Version: "v1"})
	c := NewCatalog(api, nil)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := c.Mapping(widgetKind.WithVersion(""))
	const want = "the cluster can't tell whether it has kind Widget.g: down"
	if _, ok := errors.AsType[*UnansweredError](err); !ok || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = c.Mapping(schema.GroupVersionKind{Group: "h", Kind: "Widget"})
	if err == nil || err.Error() != "no kind Widget.h in this cluster" {
		t.Errorf("a group that answers: %v", err)
	}
}

// TestUnlisted: discovery that lacks groups with an APIService is not believed: an API server that has just started
// answers before it knows all groups. The APIServices are only read if a group may have been lost.
func TestUnlisted(t *testing.T) {
	config := testenv.Config(t)
	services, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	listed := discovery.ToDiscoveryInterfaceWithContext(whole)
	groups, resources, err := listed.ServerGroupsAndResourcesWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	api := &answers{groups: groups[:1], resources: resources} // The core group alone.
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	c := NewCatalog(api, services)
	refresh := func() {
		t.Helper()
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	_, err = c.Mapping(deployment.WithVersion("v1"))
	if !isUnanswered(err) || !errors.Is(c.Silence("apps"), errUnlisted) {
		t.Errorf("a group that was never listed: %v", err)
	}
	if c.Silence("") != nil {
		t.Errorf("the core group is silent: %v", c.Silence(""))
	}
	api.groups = groups
	refresh()
	if _, err := c.Mapping(deployment.WithVersion("v1")); err != nil || len(c.Silent()) > 0 {
		t.Errorf("all groups are listed: %v, silent are %v", err, c.Silent())
	}
	api.groups = groups[:1]
	refresh()
	if m, err := c.Mapping(deployment.WithVersion("v1")); err != nil || m.Resource.Resource != "deployments" {
		t.Errorf("a group that vanished keeps its kinds: %v, %v", m, err)
	}
	nobody, err := metadata.NewForConfig(testenv.As(t, "nobody"))
	if err != nil {
		t.Fatal(err)
	}
	c = NewCatalog(api, nobody)
	refresh() // Without the right to list APIServices, discovery is all that there is.
	if _, err := c.Mapping(deployment.WithVersion("v1")); isUnanswered(err) || err == nil {
		t.Errorf("without the right to list APIServices: %v", err)
	}
}

func isUnanswered(err error) bool {
	_, ok := errors.AsType[*UnansweredError](err)
	return ok
}
