package lineage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Skipped is a kind whose objects an answer leaves out, such as secrets in namespace shop,
// which the caller may not list (HTTP 403).
type Skipped struct {
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource"`
	// Namespace is set if the kind was left out in that namespace only. Except is set if
	// the kind was left out in all other namespaces.
	Namespace string `json:"namespace,omitempty"`
	Except    string `json:"except,omitempty"`
	Reason    string `json:"reason"`
}

// String returns the resource, the place and the reason: `secrets in namespace shop (forbidden)`.
func (s Skipped) String() string {
	return s.GroupResource().String() + " " + s.Where() + " (" + s.Reason + ")"
}

// GroupResource returns the resource that was left out, such as secrets or ports.openstack.k-orc.cloud.
func (s Skipped) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: s.Group, Resource: s.Resource}
}

// Where returns the namespaces in which the resource was left out.
func (s Skipped) Where() string {
	switch {
	case s.Namespace != "":
		return "in namespace " + s.Namespace
	case s.Except != "":
		return "outside namespace " + s.Except
	default:
		return "in the cluster"
	}
}

// Skipped returns each [Skipped] so far, sorted.
func (c *Cluster) Skipped() []Skipped {
	all := slices.Clone(c.skipped)
	slices.SortFunc(all, func(a, b Skipped) int {
		return cmp.Or(
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reason, b.Reason),
		)
	})
	return slices.Compact(all)
}

// skippedFor returns each [Skipped] that an answer about an object could have needed. An API group whose server does
// not answer, such as metrics.k8s.io, concerns few questions: about objects and owners of the group, about objects that
// objects of the group refer to, and about what is being deleted, which may wait for objects of any kind.
func (c *Cluster) skippedFor(n *Node) []Skipped {
	return slices.DeleteFunc(c.Skipped(), func(s Skipped) bool {
		ofGroup := func(gk schema.GroupKind) bool { return gk.Group == s.Group }
		isNeeded := s.Resource != "*" || n.Deleted != nil || n.ID.GroupKind() == namespaceKind || n.ID.Group == s.Group ||
			slices.ContainsFunc(c.rules.declarers(), ofGroup) ||
			slices.ContainsFunc(n.Owners, func(o metav1.OwnerReference) bool {
				return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).Group == s.Group
			})
		return !isNeeded
	})
}

// skip records that a kind was not listed. An IsNotFound error records nothing: the kind
// was removed after discovery.
func (c *Cluster) skip(k kind, s Skipped, err error) {
	switch {
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return
	case apierrors.IsForbidden(err):
		s.Reason = "forbidden"
	case errors.Is(err, context.DeadlineExceeded):
		s.Reason = fmt.Sprintf("no answer within %s", listTimeout)
	default:
		s.Reason = err.Error()
	}
	s.Group, s.Resource = k.Resource.Group, k.Resource.Resource
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped = append(c.skipped, s)
}

// skippedOf returns the entries of Skipped that leave out objects of some kinds. Resource
// "*" stands for all kinds of an API group whose server does not answer.
func (c *Cluster) skippedOf(kinds ...schema.GroupKind) []Skipped {
	return slices.DeleteFunc(c.Skipped(), func(s Skipped) bool {
		return !slices.ContainsFunc(kinds, func(gk schema.GroupKind) bool {
			k, _ := c.catalog.Kind(gk)
			return s.Group == gk.Group && (s.Resource == k.Resource.Resource || s.Resource == "*")
		})
	})
}
