package revision

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apijson "k8s.io/apimachinery/pkg/util/json"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Kind is the kind of revisions.
var Kind = appsv1.SchemeGroupVersion.WithKind("ControllerRevision")

// takenRetry is the pause before Record tries a name again that a foreign ControllerRevision has.
const takenRetry = time.Minute

// byParent is the index of ControllerRevisions by [History.ParentOf].
const byParent = "parent"

// History records the specs of the objects of a kind. Set the fields and call [History.Open] before
// any other method. A History is safe for concurrent use if no two goroutines work on the same
// object.
type History struct {
	// Store is the informer of the ControllerRevisions.
	watch.Store

	// Parent is the kind of the objects.
	Parent schema.GroupVersionKind
	// Label is the label of the ControllerRevisions whose value is the name of the object.
	Label string
	// Limit is how many revisions of an object [History.Prune] keeps besides those for which isUsed
	// is true.
	Limit int
	// Client writes to the API server. Client MUST NOT read from a cache.
	Client client.Client
	// FieldOwner is the field manager of the ControllerRevisions.
	FieldOwner string
	// Reason is the reason of each [reconcile.Outcome] that is not done.
	Reason string
}

// Open opens the informer of the ControllerRevisions in a new cache.Cache, which the caller starts.
func (h *History) Open(
	ctx context.Context, newCache func(cache.Options) (cache.Cache, error),
) (cache.Cache, error) {
	selector, err := labels.Parse(h.Label)
	if err != nil {
		return nil, fmt.Errorf("select ControllerRevisions: %w", err)
	}
	c, err := newCache(cache.Options{ByObject: map[client.Object]cache.ByObject{
		&appsv1.ControllerRevision{}: {Label: selector},
	}})
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	if h.Store, err = watch.Open(ctx, c, Kind.GroupKind(), &appsv1.ControllerRevision{}); err != nil {
		return nil, err
	}
	if err := h.AddIndexers(toolscache.Indexers{byParent: h.indexParent}); err != nil {
		return nil, fmt.Errorf("watch ControllerRevisions: %w", err)
	}
	return c, nil
}

func (h *History) indexParent(obj any) ([]string, error) {
	r, ok := obj.(*appsv1.ControllerRevision)
	if !ok {
		return nil, nil
	}
	return []string{h.ParentOf(r).String()}, nil
}

// ParentOf returns the object that [History.Label] of a revision names. The revision belongs to the
// object only if the object is its controller.
func (h *History) ParentOf(revision client.Object) object.ID {
	return object.ID{
		Group: h.Parent.Group, Kind: h.Parent.Kind, Namespace: revision.GetNamespace(), Name: revision.GetLabels()[h.Label],
	}
}

// Of returns the revisions of an object from the cache, from the oldest to the newest.
func (h *History) Of(parent client.Object) ([]*appsv1.ControllerRevision, error) {
	id := object.Of(parent, h.Parent.GroupKind())
	found, err := h.GetIndexer().ByIndex(byParent, id.String())
	if err != nil {
		return nil, fmt.Errorf("list the revisions of %s: %w", id, err)
	}
	all := make([]*appsv1.ControllerRevision, 0, len(found))
	for _, f := range found {
		if revision := f.(*appsv1.ControllerRevision); metav1.IsControlledBy(revision, parent) {
			all = append(all, revision)
		}
	}
	slices.SortFunc(all, func(a, b *appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return all, nil
}

// Record returns the newest revision of an object. If the newest revision does not have the present
// spec, Record creates a revision. The parameter last is the number of the newest revision in the
// status of the object, because the cache may be late. isPresent reports whether the data of a
// revision have the present spec, and content is the data of a new revision.
func (h *History) Record(
	ctx context.Context, parent client.Object, last int64, content any, isPresent func(data []byte) bool,
) (*appsv1.ControllerRevision, reconcile.Outcome) {
	all, err := h.Of(parent)
	if err != nil {
		return nil, reconcile.Fail(h.Reason, err)
	}
	newest, err := h.newest(ctx, parent, last, all)
	if err != nil {
		return nil, reconcile.Fail(h.Reason, err)
	}
	if newest != nil {
		last = max(last, newest.Revision)
		if newest.Revision == last && isPresent(newest.Data.Raw) {
			return newest, reconcile.Outcome{}
		}
	}
	number, err := h.free(parent, last+1)
	if err != nil {
		return nil, reconcile.Fail(h.Reason, err)
	}
	revision, err := h.revisionOf(parent, number, content)
	if err != nil {
		return nil, reconcile.Refuse(h.Reason, "%s", err)
	}
	if err := h.Client.Create(ctx, revision, client.FieldOwner(h.FieldOwner)); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil, h.taken(ctx, parent, revision.Name, all)
		}
		return nil, reconcile.Fail(h.Reason, fmt.Errorf("create ControllerRevision/%s: %w", revision.Name, err))
	}
	return revision, reconcile.Outcome{}
}

// free returns the first number, from a number on, that no revision of a former object of the same name has. After
// `kubectl delete --cascade=orphan`, the revisions of the former object stay.
func (h *History) free(parent client.Object, number int64) (int64, error) {
	id := object.Of(parent, h.Parent.GroupKind())
	found, err := h.GetIndexer().ByIndex(byParent, id.String())
	if err != nil {
		return 0, fmt.Errorf("list the revisions of %s: %w", id, err)
	}
	taken := map[string]bool{}
	for _, f := range found {
		revision := f.(*appsv1.ControllerRevision)
		taken[revision.Name] = metav1.GetControllerOf(revision) == nil
	}
	for taken[nameOf(parent, number)] {
		number++
	}
	return number, nil
}

// newest returns the newest revision of an object, or nil. If the status of the object has a later
// revision than the cache, newest reads the later revision from the API server: after a start of
// the operator, the cache of ControllerRevisions may fill after the first pass over their parents.
func (h *History) newest(
	ctx context.Context, parent client.Object, last int64, cached []*appsv1.ControllerRevision,
) (*appsv1.ControllerRevision, error) {
	var newest *appsv1.ControllerRevision
	if len(cached) > 0 {
		newest = cached[len(cached)-1]
	}
	if last == 0 || newest != nil && newest.Revision >= last {
		return newest, nil
	}
	key := client.ObjectKey{Namespace: parent.GetNamespace(), Name: nameOf(parent, last)}
	live := &appsv1.ControllerRevision{}
	if err := h.Client.Get(ctx, key, live); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ControllerRevision/%s: %w", key.Name, err)
	}
	if h.isOwn(live, parent) {
		return live, nil
	}
	return newest, nil
}

// isOwn reports whether a ControllerRevision is a revision of an object.
func (h *History) isOwn(revision *appsv1.ControllerRevision, parent client.Object) bool {
	return metav1.IsControlledBy(revision, parent) && h.ParentOf(revision).Name == parent.GetName()
}

// nameOf returns the name of a revision of an object, such as web-v2.
func nameOf(parent client.Object, number int64) string {
	return fmt.Sprintf("%s-v%d", parent.GetName(), number)
}

// taken returns an Outcome that waits until the name of a revision is free or, if an earlier pass
// has created the revision, until the cache has the revision.
func (h *History) taken(
	ctx context.Context, parent client.Object, name string, cached []*appsv1.ControllerRevision,
) reconcile.Outcome {
	found := &appsv1.ControllerRevision{}
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: parent.GetNamespace(), Name: name}, found); err != nil {
		return reconcile.Fail(h.Reason, fmt.Errorf("read ControllerRevision/%s: %w", name, err))
	}
	isCached := slices.ContainsFunc(cached, func(c *appsv1.ControllerRevision) bool { return c.Name == name })
	if h.isOwn(found, parent) && !isCached {
		return reconcile.WaitForCache(h.Reason, "waiting for the cache to show ControllerRevision/%s", name)
	}
	return reconcile.WaitFor(takenRetry, h.Reason,
		"ControllerRevision/%s exists, and is no revision of %s/%s: delete it", name, h.Parent.Kind, parent.GetName())
}

func (h *History) revisionOf(parent client.Object, number int64, content any) (*appsv1.ControllerRevision, error) {
	data, err := canonical(content)
	if err != nil {
		return nil, fmt.Errorf("record %s/%s: %w", h.Parent.Kind, parent.GetName(), err)
	}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: parent.GetNamespace(), Name: nameOf(parent, number),
			Labels:          map[string]string{h.Label: parent.GetName()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(parent, h.Parent)},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: number,
	}
	for _, name := range []string{authorise.AuthorsAnnotation, authorise.RenderedAnnotation} {
		if authors, ok := parent.GetAnnotations()[name]; ok {
			metav1.SetMetaDataAnnotation(&revision.ObjectMeta, name, authors)
		}
	}
	return revision, nil
}

// canonical returns the JSON of a value as the API server writes it, with sorted keys. The API server decodes and
// encodes data when somebody patches metadata, and refuses the patch if a byte of data differs: "data: field is
// immutable". The garbage collector could then not remove the ownerReference after `kubectl delete --cascade=orphan`.
func canonical(content any) ([]byte, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	var value any
	if err := apijson.Unmarshal(text, &value); err != nil { // Keeps integers of 64 bits.
		return nil, err
	}
	return json.Marshal(value)
}

// Prune deletes the oldest revisions of an object beyond [History.Limit], but never the newest
// revision, and no revision for which isUsed is true.
func (h *History) Prune(
	ctx context.Context, parent client.Object, newest string, isUsed func(*appsv1.ControllerRevision) bool,
) reconcile.Outcome {
	all, err := h.Of(parent)
	if err != nil {
		return reconcile.Fail(h.Reason, err)
	}
	excess := len(all) - h.Limit
	for _, old := range all {
		if excess <= 0 || old.Name == newest {
			break
		}
		if isUsed(old) {
			continue
		}
		err := h.Client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Fail(h.Reason, fmt.Errorf("delete ControllerRevision/%s: %w", old.Name, err))
		}
		excess--
	}
	return reconcile.Outcome{}
}
