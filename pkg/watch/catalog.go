package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// Mapping says where the API server serves the objects of a kind.
type Mapping struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// Kind is the [Mapping] of a kind in its preferred version, with its names.
type Kind struct {
	Mapping

	// Names are the plural, the singular, the kind and the shortNames of the APIResource, in
	// lower case: "configmaps", "configmap", "cm".
	Names []string
	// HasStatus says that the kind has the subresource status, HasScale that it has the subresource
	// scale.
	HasStatus, HasScale bool
}

// GroupKind returns the kind without its version.
func (m Mapping) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: m.Resource.Group, Kind: m.Kind}
}

// KindError says that the API server does not serve a kind, or does not serve the kind in
// Kind.Version.
type KindError struct {
	Kind   schema.GroupVersionKind
	Served []string // versions of the kind that the API server serves
}

// Error implements error.
func (e *KindError) Error() string {
	if len(e.Served) > 0 {
		return fmt.Sprintf("%s is not served in version %s, but in %v", e.Kind.GroupKind(), e.Kind.Version, e.Served)
	}
	return fmt.Sprintf("no kind %s in this cluster", e.Kind.GroupKind())
}

// UnansweredError says that the API server can't tell whether it serves a kind, because the
// aggregated API server of the group does not answer. A caller MUST NOT conclude that the kind
// or its objects do not exist.
type UnansweredError struct {
	Kind   schema.GroupVersionKind
	Reason error
}

// Error implements error.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the cluster can't tell whether it has kind %s: %s", e.Kind.GroupKind(), e.Reason)
}

// Catalog has the kinds that the cluster serves. A Catalog is one snapshot, which
// [Catalog.Refresh] replaces as a whole: a lookup takes no lock and sends no request, as a
// lookup in a meta.RESTMapper may. Catalog is safe for concurrent use. Before the first
// [Catalog.Refresh] a Catalog has no kind.
type Catalog struct {
	discovery discovery.DiscoveryInterfaceWithContext
	metadata  metadata.Interface
	turn      *semaphore.Weighted // held by Refresh, so that the snapshot read last stays
	last      atomic.Pointer[snapshot]
}

// NewCatalog returns a [Catalog] of a cluster. With a metadata.Interface, [Catalog.Refresh]
// also compares the groups of discovery with the APIServices: an operator needs this if it
// draws conclusions from the absence of a kind. With nil, [Catalog.Refresh] sends two requests.
func NewCatalog(d discovery.DiscoveryInterfaceWithContext, m metadata.Interface) *Catalog {
	return &Catalog{discovery: d, metadata: m, turn: semaphore.NewWeighted(1)}
}

// snapshot is the result of one [Catalog.Refresh].
type snapshot struct {
	kinds map[schema.GroupKind][]Mapping // preferred version first
	// order has each kind once, in the API server's order of precedence.
	order []Kind
	// groups are the API groups that exist, including groups without a known Kind.
	groups map[string]bool
	// silent has each GroupVersion that did not answer discovery. The kinds of a silent
	// GroupVersion are copied from the previous snapshot.
	silent map[schema.GroupVersion]error
}

// Refresh reads the kinds from discovery. A group whose API server does not answer
// (ErrGroupDiscoveryFailed) is no error: Refresh keeps the known kinds of the group, and
// [Catalog.Silent] returns its GroupVersion.
func (c *Catalog) Refresh(ctx context.Context) error {
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait to read what kinds the cluster serves: %w", err)
	}
	defer c.turn.Release(1)
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
	if c.metadata != nil && (before == nil || before.lost(now)) {
		if err := c.addUnlisted(ctx, now); err != nil {
			return err
		}
	}
	if before != nil {
		now.keepSilent(before)
	}
	c.last.Store(now)
	return nil
}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

var errUnlisted = errors.New("the API server does not list the group, though it has an APIService")

// addUnlisted marks each GroupVersion as silent that has an APIService and whose group is
// missing in discovery: an API server that has just started answers before it knows all groups.
func (c *Catalog) addUnlisted(ctx context.Context, now *snapshot) error {
	services, err := c.metadata.Resource(apiServices).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil // Without the right to list APIServices, discovery is all that there is.
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

// lost reports whether a group of s is missing in now, a later snapshot.
func (s *snapshot) lost(now *snapshot) bool {
	for group := range s.groups {
		if !now.groups[group] {
			return true
		}
	}
	return false
}

// silence marks a GroupVersion as silent.
func (s *snapshot) silence(gv schema.GroupVersion, reason error) {
	s.groups[gv.Group] = true
	s.silent[gv] = reason
}

// add adds an APIGroup with its kinds, the PreferredVersion first.
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
		return // No request is possible for such a GroupVersion.
	}
	for _, r := range list.APIResources {
		if !isKept(r) {
			continue
		}
		m := Mapping{Resource: gv.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced}
		gk := m.GroupKind()
		if s.kinds[gk] = append(s.kinds[gk], m); len(s.kinds[gk]) == 1 {
			names := append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...)
			s.order = append(s.order, Kind{
				Mapping: m, Names: names,
				HasStatus: has(list, r.Name+"/status"), HasScale: has(list, r.Name+"/scale"),
			})
		}
	}
}

// isKept reports whether a resource is listed and watched. Subresources are not, and neither
// are kinds that the API server does not store, such as SubjectAccessReview.
func isKept(r metav1.APIResource) bool {
	return !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

func has(list *metav1.APIResourceList, name string) bool {
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
}

// keepSilent copies the kinds of every silent GroupVersion from the previous snapshot.
func (s *snapshot) keepSilent(before *snapshot) {
	if len(s.silent) == 0 {
		return
	}
	for _, k := range before.order {
		for _, m := range before.kinds[k.GroupKind()] {
			if s.silent[m.Resource.GroupVersion()] == nil {
				continue
			}
			if s.kinds[k.GroupKind()] = append(s.kinds[k.GroupKind()], m); len(s.kinds[k.GroupKind()]) == 1 {
				k.Mapping = m
				s.order = append(s.order, k)
			}
		}
	}
}

// silenced returns the error of a silent GroupVersion, or nil. With an empty version, silenced
// returns the error of the first silent version of the group.
func (s *snapshot) silenced(gv schema.GroupVersion) error {
	if gv.Version != "" {
		return s.silent[gv]
	}
	var first schema.GroupVersion // The least version, so that the answer is always the same.
	for other := range s.silent {
		if other.Group == gv.Group && (first.Empty() || other.Version < first.Version) {
			first = other
		}
	}
	return s.silent[first]
}

// Mapping returns the [Mapping] of a kind. An empty version means the preferred version. The
// error is a *KindError if the API server does not serve the kind, and an *UnansweredError if
// the API server can't tell.
func (c *Catalog) Mapping(gvk schema.GroupVersionKind) (Mapping, error) {
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

// Silence returns the error of the least version of a group that did not answer discovery
// (GroupVersion), or nil.
func (c *Catalog) Silence(group string) error {
	last := c.last.Load()
	if last == nil {
		return nil
	}
	return last.silenced(schema.GroupVersion{Group: group})
}

// Silent returns each GroupVersion that did not answer discovery, with its error.
func (c *Catalog) Silent() map[schema.GroupVersion]error {
	last := c.last.Load()
	if last == nil {
		return nil
	}
	return maps.Clone(last.silent)
}

// Served returns each [Kind] that the API server serves once, in its preferred version, in the
// order of precedence of discovery. The slice belongs to the caller.
func (c *Catalog) Served() []Kind {
	last := c.last.Load()
	if last == nil {
		return nil
	}
	return slices.Clone(last.order)
}

// Kind returns the [Kind] of a GroupKind in its preferred version.
func (c *Catalog) Kind(gk schema.GroupKind) (Kind, bool) {
	last := c.last.Load()
	if last == nil {
		return Kind{}, false
	}
	i := slices.IndexFunc(last.order, func(k Kind) bool { return k.GroupKind() == gk })
	if i < 0 {
		return Kind{}, false
	}
	return last.order[i], true
}
