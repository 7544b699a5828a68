package oam

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// revisionLimit is how many revisions of a Component are kept that no application names.
const revisionLimit = 50

// byComponent is the index of ControllerRevisions by the Component that they record.
const byComponent = "component"

func indexRevision(obj any) ([]string, error) {
	r, ok := obj.(*appsv1.ControllerRevision)
	if !ok {
		return nil, nil
	}
	return []string{componentOf(r).String()}, nil
}

// componentOf returns the Component that a ControllerRevision records.
func componentOf(r client.Object) object.ID {
	return in(componentKind, r.GetNamespace(), r.GetLabels()[oamv1alpha2.LabelComponent])
}

// latestRevision returns the name of the revision of a Component's present spec, if there is one yet.
func latestRevision(c *oamv1alpha2.Component) (string, bool) {
	if c.Status.LatestRevision == nil {
		return "", false
	}
	return c.Status.LatestRevision.Name, c.Status.ObservedGeneration == c.Generation
}

// isRecorded implements engine.Kind.Ready: a Component can be used when its present spec has a revision.
// The id wakes the applications of the Component: its labels and annotations are copied to the workload.
func isRecorded(obj client.Object) (string, bool) {
	c := obj.(*oamv1alpha2.Component)
	name, ok := latestRevision(c)
	return fmt.Sprint(name, c.Labels, c.Annotations), ok
}

type componentPass = pass[*oamv1alpha2.Component]

// componentReconciler records each spec of a Component in a ControllerRevision.
type componentReconciler struct{ *environment }

func newComponents(e *environment, writes *reconcile.Writes) *reconcile.Pass[*componentPass] {
	r := componentReconciler{e}
	return controller[*oamv1alpha2.Component]{
		environment: e, writer: e.writerOf(writes),
		status: func(c *oamv1alpha2.Component) *oamv1alpha2.ConditionedStatus { return &c.Status.ConditionedStatus },
		steps: []reconcile.Step[*componentPass]{
			{Name: "record revision", Run: r.record},
			{Name: "delete old revisions", Run: r.collect},
		},
	}.pass()
}

// revisionsOf returns the revisions of a Component from the oldest to the newest. A label alone makes no
// revision: the Component is the controller of its revisions.
func (r componentReconciler) revisionsOf(p *componentPass) ([]*appsv1.ControllerRevision, error) {
	found, err := r.revisions.ByIndex(byComponent, p.id.String())
	if err != nil {
		return nil, fmt.Errorf("list the revisions of %s: %w", p.id, err)
	}
	all := make([]*appsv1.ControllerRevision, 0, len(found))
	for _, f := range found {
		if revision := f.(*appsv1.ControllerRevision); metav1.IsControlledBy(revision, p.obj) {
			all = append(all, revision)
		}
	}
	slices.SortFunc(all, func(a, b *appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return all, nil
}

// record creates a revision, unless the newest one has the spec of the Component.
func (r componentReconciler) record(ctx context.Context, p *componentPass) reconcile.Outcome {
	all, err := r.revisionsOf(p)
	if err != nil {
		return reconcile.Fail(reasonError, err)
	}
	newest, err := r.newest(ctx, p, all)
	if err != nil {
		return reconcile.Fail(reasonError, err)
	}
	var last int64
	if latest := p.obj.Status.LatestRevision; latest != nil {
		last = latest.Revision
	}
	if newest != nil {
		last = max(last, newest.Revision)
		if c, err := componentIn(newest); err == nil && newest.Revision == last && sameSpec(c, p.obj) {
			setLatest(p.obj, newest)
			return reconcile.Outcome{}
		}
	}
	revision, err := revisionOf(p.obj, last+1)
	if err != nil {
		return reconcile.Refuse(reasonError, "%s", err)
	}
	if err := r.live.Create(ctx, revision, client.FieldOwner(fieldOwner)); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return r.taken(ctx, p, revision.Name, all)
		}
		return reconcile.Fail(reasonError, fmt.Errorf("create ControllerRevision/%s: %w", revision.Name, err))
	}
	setLatest(p.obj, revision)
	return reconcile.Outcome{}
}

// newest returns the newest revision of a Component, or nil if there is none. If the status names a
// newer revision than the cache has, newest reads this revision from the API server: after the start of
// the operator, the cache of revisions may fill after the first pass over Components.
func (r componentReconciler) newest(
	ctx context.Context, p *componentPass, cached []*appsv1.ControllerRevision,
) (*appsv1.ControllerRevision, error) {
	var newest *appsv1.ControllerRevision
	if len(cached) > 0 {
		newest = cached[len(cached)-1]
	}
	latest := p.obj.Status.LatestRevision
	if latest == nil || newest != nil && newest.Revision >= latest.Revision {
		return newest, nil
	}
	live := &appsv1.ControllerRevision{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: p.obj.Namespace, Name: latest.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return newest, nil
	case err != nil:
		return nil, fmt.Errorf("read ControllerRevision/%s: %w", latest.Name, err)
	case metav1.IsControlledBy(live, p.obj) && componentOf(live) == p.id:
		return live, nil
	}
	return newest, nil
}

// taken waits until the name of a revision is free, or until the cache shows the revision, which an
// earlier pass has created.
func (r componentReconciler) taken(
	ctx context.Context, p *componentPass, name string, cached []*appsv1.ControllerRevision,
) reconcile.Outcome {
	found := &appsv1.ControllerRevision{}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: p.obj.Namespace, Name: name}, found); err != nil {
		return reconcile.Fail(reasonError, fmt.Errorf("read ControllerRevision/%s: %w", name, err))
	}
	isCached := slices.ContainsFunc(cached, func(c *appsv1.ControllerRevision) bool { return c.Name == name })
	if !isCached && metav1.IsControlledBy(found, p.obj) && componentOf(found) == p.id {
		return reconcile.WaitForCache(reasonError, "waiting for the cache to show ControllerRevision/%s", name)
	}
	return reconcile.WaitFor(refusedRetry, reasonError,
		"ControllerRevision/%s exists, and is no revision of Component/%s: delete it", name, p.obj.Name)
}

func setLatest(c *oamv1alpha2.Component, revision *appsv1.ControllerRevision) {
	c.Status.LatestRevision = &oamv1alpha2.Revision{Name: revision.Name, Revision: revision.Revision}
	c.Status.ObservedGeneration = c.Generation
}

// sameSpec reports whether two Components have the same spec.
func sameSpec(a, b *oamv1alpha2.Component) bool {
	var before, now any
	if json.Unmarshal(a.Spec.Workload.Raw, &before) != nil || json.Unmarshal(b.Spec.Workload.Raw, &now) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(before, now) && equality.Semantic.DeepEqual(a.Spec.Parameters, b.Spec.Parameters)
}

// revisionOf returns the ControllerRevision of the present spec.
func revisionOf(c *oamv1alpha2.Component, number int64) (*appsv1.ControllerRevision, error) {
	recorded := &oamv1alpha2.Component{Spec: c.Spec}
	recorded.APIVersion, recorded.Kind = componentKind.ToAPIVersionAndKind()
	recorded.Name, recorded.Namespace, recorded.Labels = c.Name, c.Namespace, c.Labels
	data, err := json.Marshal(recorded)
	if err != nil {
		return nil, fmt.Errorf("record Component/%s: %w", c.Name, err)
	}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: fmt.Sprintf("%s-v%d", c.Name, number),
			Labels:          map[string]string{oamv1alpha2.LabelComponent: c.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, componentKind)},
		},
		Data: k8sruntime.RawExtension{Raw: data}, Revision: number,
	}
	if authors := c.Annotations[authorise.AuthorsAnnotation]; authors != "" {
		revision.Annotations = map[string]string{authorise.AuthorsAnnotation: authors}
	}
	return revision, nil
}

// collect deletes the oldest revisions beyond revisionLimit that no application names.
func (r componentReconciler) collect(ctx context.Context, p *componentPass) reconcile.Outcome {
	all, err := r.revisionsOf(p)
	if err != nil {
		return reconcile.Fail(reasonError, err)
	}
	excess := len(all) - revisionLimit
	for _, old := range all {
		if excess <= 0 || old.Name == p.obj.Status.LatestRevision.Name {
			break
		}
		if len(r.engine.Sources(object.Of(old, revisionKind.GroupKind()), "")) > 0 || r.isDeployed(old) {
			continue
		}
		err := r.live.Delete(ctx, old, client.Preconditions{UID: &old.UID})
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Fail(reasonError, fmt.Errorf("delete ControllerRevision/%s: %w", old.Name, err))
		}
		excess--
	}
	return reconcile.Outcome{}
}

// isDeployed reports whether an application has a workload of a revision.
func (r componentReconciler) isDeployed(revision *appsv1.ControllerRevision) bool {
	for _, source := range r.engine.Sources(componentOf(revision), "") {
		ac, ok := r.engine.Get(source).(*oamv1alpha2.ApplicationConfiguration)
		if ok && slices.ContainsFunc(ac.Status.HistoryWorkloads, func(h oamv1alpha2.HistoryWorkload) bool {
			return h.Revision == revision.Name
		}) {
			return true
		}
	}
	return false
}

// ownerOf returns the controller of an object that the stores keep.
func ownerOf(obj relation.Object) (object.ID, bool) {
	if obj.Content == nil {
		return object.ID{}, false
	}
	c := metav1.GetControllerOfNoCopy(obj.Content)
	if c == nil {
		return object.ID{}, false
	}
	return idOf(oamv1alpha2.TypedReference{APIVersion: c.APIVersion, Kind: c.Kind, Name: c.Name}, obj.ID.Namespace), true
}

// ownersOf returns the controllers of an object before and after a change.
func ownersOf(c relation.Change) []object.ID {
	var owners []object.ID
	for _, obj := range []*relation.Object{c.Old, c.New} {
		if obj == nil {
			continue
		}
		if owner, ok := ownerOf(*obj); ok && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	return owners
}
