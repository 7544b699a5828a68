package relation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// Kinds tells which kinds the cluster serves.
type Kinds interface {
	// Mapping returns where objects of a kind are found. An empty version means
	// any. The error is a *KindError when the cluster does not serve the kind, and an
	// *UnansweredError when it can't tell.
	Mapping(gvk schema.GroupVersionKind) (Mapping, error)
}

// Mapping is where objects of a kind are found.
type Mapping struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// KindError says that the cluster does not serve a kind, or not in a version.
type KindError struct {
	Kind   schema.GroupVersionKind
	Served []string // versions of the kind that are served
}

// Error implements error.
func (e *KindError) Error() string {
	if len(e.Served) > 0 {
		return fmt.Sprintf("%s is not served in version %s, but in %v", e.Kind.GroupKind(), e.Kind.Version, e.Served)
	}
	return fmt.Sprintf("no kind %s in this cluster", e.Kind.GroupKind())
}

// UnansweredError says that the cluster can't tell now whether it serves a kind,
// because whoever serves the group does not answer. Nothing follows from that: the
// kind may be there, and so may all of its objects.
type UnansweredError struct {
	Kind   schema.GroupVersionKind
	Reason error
}

// Error implements error.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the cluster can't tell whether it has kind %s: %s", e.Kind.GroupKind(), e.Reason)
}

// catalog is a snapshot of what the cluster serves, replaced as a whole. A
// lookup takes no lock and sends no request, unlike that of a RESTMapper.
type catalog struct {
	discovery discovery.DiscoveryInterfaceWithContext
	metadata  metadata.Interface
	turn      sync.Mutex // of refresh: what was read last is to be what is known
	last      atomic.Pointer[snapshot]
}

// snapshot is what was last known.
type snapshot struct {
	kinds map[schema.GroupKind][]Mapping // preferred version first
	// groups are those that exist, whatever is known of them.
	groups map[string]bool
	// silent are the versions of groups that nothing could be learned of. Of them
	// kinds says what was known before.
	silent map[schema.GroupVersion]error
}

func (c *catalog) refresh(ctx context.Context) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	groups, resources, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	silent, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return fmt.Errorf("read what kinds the cluster serves: %w", err)
	}
	now := newSnapshot()
	for _, g := range groups {
		now.add(g, resources)
	}
	for gv, reason := range silent {
		now.silence(gv, reason)
	}
	before := c.last.Load()
	if before == nil || before.lost(now) {
		if err := c.unlisted(ctx, now); err != nil {
			return err
		}
	}
	if before != nil {
		now.keep(before)
	}
	c.last.Store(now)
	return nil
}

var errUnlisted = errors.New("the API server does not list the group, though it has an APIService")

// unlisted makes the groups silent that the cluster has, by its APIServices, and that
// its list of groups lacks: an API server answers before it has learned of all of them.
func (c *catalog) unlisted(ctx context.Context, now *snapshot) error {
	services, err := c.metadata.Resource(apiServices).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil // The list is all that there is to know.
	}
	if err != nil {
		return fmt.Errorf("read what groups the cluster has: %w", err)
	}
	listed := maps.Clone(now.groups)
	for _, service := range services.Items {
		version, group, _ := strings.Cut(service.Name, ".")
		if group != "" && !listed[group] {
			now.silence(schema.GroupVersion{Group: group, Version: version}, errUnlisted)
		}
	}
	return nil
}

func newSnapshot() *snapshot {
	return &snapshot{
		kinds: map[schema.GroupKind][]Mapping{}, groups: map[string]bool{}, silent: map[schema.GroupVersion]error{},
	}
}

// lost reports whether a later snapshot lacks a group.
func (s *snapshot) lost(now *snapshot) bool {
	for group := range s.groups {
		if !now.groups[group] {
			return true
		}
	}
	return false
}

// silence takes in that nothing could be learned of a version of a group.
func (s *snapshot) silence(gv schema.GroupVersion, reason error) {
	s.groups[gv.Group] = true
	s.silent[gv] = reason
}

// add takes in a group, its preferred version first.
func (s *snapshot) add(g *metav1.APIGroup, resources []*metav1.APIResourceList) {
	s.groups[g.Name] = true
	versions := []string{g.PreferredVersion.GroupVersion}
	for _, v := range g.Versions {
		if v.GroupVersion != versions[0] {
			versions = append(versions, v.GroupVersion)
		}
	}
	for _, version := range versions {
		for _, list := range resources {
			if list.GroupVersion == version {
				s.addVersion(list)
			}
		}
	}
}

func (s *snapshot) addVersion(list *metav1.APIResourceList) {
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return // No such group can be asked for anything.
	}
	for _, r := range list.APIResources {
		if !watchable(r.Verbs) {
			continue
		}
		gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
		s.kinds[gk] = append(s.kinds[gk], Mapping{
			Resource: gv.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced,
		})
	}
}

// keep takes over what was known of those that are silent now.
func (s *snapshot) keep(before *snapshot) {
	if len(s.silent) == 0 {
		return
	}
	for gk, versions := range before.kinds {
		for _, m := range versions {
			if s.silent[m.Resource.GroupVersion()] != nil {
				s.kinds[gk] = append(s.kinds[gk], m)
			}
		}
	}
}

// silenced returns why nothing is known of a version of a group, or of any one where
// the version is empty; nil if all is.
func (s *snapshot) silenced(gv schema.GroupVersion) error {
	if gv.Version != "" {
		return s.silent[gv]
	}
	var first schema.GroupVersion // Of several always the same.
	for other := range s.silent {
		if other.Group == gv.Group && (first.Empty() || other.Version < first.Version) {
			first = other
		}
	}
	return s.silent[first]
}

// watchable leaves out subresources and kinds that can be created but not kept,
// such as reviews.
func watchable(verbs []string) bool {
	list, watch := false, false
	for _, v := range verbs {
		list = list || v == "list"
		watch = watch || v == "watch"
	}
	return list && watch
}

// Mapping implements Kinds.
func (c *catalog) Mapping(gvk schema.GroupVersionKind) (Mapping, error) {
	last := c.last.Load()
	if last == nil {
		return Mapping{}, &KindError{Kind: gvk}
	}
	missing := &KindError{Kind: gvk}
	for _, m := range last.kinds[gvk.GroupKind()] {
		if gvk.Version == "" || m.Resource.Version == gvk.Version {
			return m, nil
		}
		missing.Served = append(missing.Served, m.Resource.Version)
	}
	gv := gvk.GroupVersion()
	if len(missing.Served) == 0 {
		gv.Version = "" // Another version may have the kind.
	}
	if reason := last.silenced(gv); reason != nil {
		return Mapping{}, &UnansweredError{Kind: gvk, Reason: reason}
	}
	return Mapping{}, missing
}

// silence returns why a group can't be told everything of, or nil.
func (c *catalog) silence(group string) error {
	last := c.last.Load()
	if last == nil {
		return nil
	}
	return last.silenced(schema.GroupVersion{Group: group})
}

func (c *catalog) served() []Mapping {
	last := c.last.Load()
	if last == nil {
		return nil
	}
	all := make([]Mapping, 0, len(last.kinds))
	for _, versions := range last.kinds {
		all = append(all, versions[0])
	}
	slices.SortFunc(all, func(a, b Mapping) int {
		return cmp.Compare(a.Resource.GroupResource().String(), b.Resource.GroupResource().String())
	})
	return all
}
