package oam

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// workloadWave precedes traitWave, so that a trait finds its workload.
const (
	workloadWave = iota
	traitWave
)

// inventory returns the objects that the application has: the inventory of the last pass in memory,
// and further objects in applicationPass.former and formerHistory.
func (r *applicationReconciler) inventory(p *applicationPass) []apply.Entry {
	var all []apply.Entry
	if known, ok := r.inventories.Load(p.id); ok {
		all = slices.Clone(known.([]apply.Entry))
	}
	add := func(ref oamv1alpha2.TypedReference, wave int32) {
		gvk, id := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), idOf(ref, p.Namespace)
		isKnown := slices.ContainsFunc(all, func(e apply.Entry) bool { return e.ID == id })
		if isKnown || gvk.Kind == "" || ref.Name == "" { // Another client can write the status.
			return
		}
		all = append(all, apply.Entry{ID: id, Version: gvk.Version, Wave: wave})
	}
	for _, w := range p.former {
		add(w.Reference, workloadWave)
		for _, t := range w.Traits {
			add(t.Reference, traitWave)
		}
	}
	for _, h := range p.formerHistory {
		add(h.Reference, workloadWave)
	}
	return all
}

// apply applies the workloads and the traits, and deletes former objects of the application.
func (r *applicationReconciler) apply(ctx context.Context, p *applicationPass) reconcile.Outcome {
	var want []apply.Object
	for _, part := range p.app.parts {
		hasTraits := len(part.traits) > 0
		r.bindTraits(object.Of(part.workload, part.workload.GroupVersionKind().GroupKind()), hasTraits)
		want = append(want, apply.Object{Unstructured: part.workload, Wave: workloadWave, Yields: hasTraits})
		for _, t := range part.traits {
			want = append(want, apply.Object{Unstructured: t.object, Wave: traitWave})
		}
	}
	for _, s := range p.app.stores {
		want = append(want, apply.Object{Unstructured: s, Wave: workloadWave})
	}
	for i := range want { // The Applier adds the owner.
		want[i].Unstructured = want[i].DeepCopy()
		want[i].SetOwnerReferences(nil)
		if id := object.Of(want[i], want[i].GroupVersionKind().GroupKind()); r.once && r.isApplied(id, want[i].Unstructured) {
			p.skip = append(p.skip, id)
		}
	}
	p.history = r.history(p)
	result, err := r.applier.Apply(ctx, apply.Request{
		Owner: metav1.OwnerReference{
			APIVersion: oamv1alpha2.GroupVersion.String(), Kind: applicationKind.Kind, Name: p.Name, UID: p.UID,
		},
		Have: p.withoutHistory(), Want: want, Skip: p.skip,
		Record: func(ctx context.Context, _ []apply.Entry) error {
			p.setWorkloads()
			p.keepFormer()
			return r.writeStatus(ctx, p)
		},
	})
	r.inventories.Store(p.id, result.Inventory)
	r.reportChanges(p, result.Changes)
	p.left = result.Changes.Left()
	p.setWorkloads()
	p.keepFormer()
	return r.obstacles(p.id, err, result)
}

// isApplied reports whether an object was applied for the current generation of its
// ApplicationConfiguration, and for the current revision of its Component (--oam-apply-once-only).
func (r *applicationReconciler) isApplied(id object.ID, want *unstructured.Unstructured) bool {
	found, presence := r.watcher.Get(id)
	if presence != relation.Present || found.Content == nil {
		return false
	}
	const generation = oamv1alpha2.AnnotationAppGeneration
	labels := []string{oamv1alpha2.LabelAppName, oamv1alpha2.LabelAppComponent, oamv1alpha2.LabelAppRevision}
	return found.Content.GetAnnotations()[generation] == want.GetAnnotations()[generation] &&
		!slices.ContainsFunc(labels, func(l string) bool { return found.Labels[l] != want.GetLabels()[l] })
}

// withoutHistory returns applicationPass.have without applicationPass.history: with a workload for
// each revision, a trait moves the work from one workload to the next, and deletes the earlier
// workload.
func (p *applicationPass) withoutHistory() []apply.Entry {
	stays := map[object.ID]bool{}
	for _, h := range p.history {
		stays[idOf(h.Reference, p.Namespace)] = true
	}
	return slices.DeleteFunc(slices.Clone(p.have), func(e apply.Entry) bool { return stays[e.ID] })
}

// history returns the earlier workloads of each part with part.isPerRevision, sorted by name.
func (r *applicationReconciler) history(p *applicationPass) []oamv1alpha2.HistoryWorkload {
	var all []oamv1alpha2.HistoryWorkload
	for _, part := range p.app.parts {
		if !part.isPerRevision {
			continue
		}
		found, _ := r.watcher.List(relation.Ref{
			ID: object.Of(part.workload, part.workload.GroupVersionKind().GroupKind()),
			Selector: &relation.Selector{Controller: p.UID, Labels: map[string]string{
				oamv1alpha2.LabelAppComponent: part.component, oamv1alpha2.LabelResourceType: oamv1alpha2.ResourceTypeWorkload,
			}},
		})
		for _, obj := range found {
			if obj.ID.Name == part.workload.GetName() || obj.Deleting {
				continue
			}
			all = append(all, oamv1alpha2.HistoryWorkload{
				Revision: obj.Labels[oamv1alpha2.LabelAppRevision],
				Reference: oamv1alpha2.TypedReference{
					APIVersion: part.workload.GetAPIVersion(), Kind: obj.ID.Kind, Name: obj.ID.Name, UID: obj.UID,
				},
			})
		}
	}
	return all
}

// setWorkloads writes the workloads and the traits into status.workloads. setWorkloads keeps the
// values that other controllers wrote into fields named status, for the same revision and the same
// trait.
func (p *applicationPass) setWorkloads() {
	before := p.former
	p.Status.Workloads = make([]oamv1alpha2.WorkloadStatus, 0, len(p.app.parts))
	for _, part := range p.app.parts {
		w := oamv1alpha2.WorkloadStatus{
			ComponentName: part.component, ComponentRevisionName: part.revision, Reference: referenceTo(part.workload),
		}
		var former oamv1alpha2.WorkloadStatus
		for _, b := range before {
			if b.ComponentRevisionName == part.revision && b.ComponentName == part.component && b.Reference == w.Reference {
				former = b
			}
		}
		w.Status = former.Status
		for _, t := range part.traits {
			w.Traits = append(w.Traits, oamv1alpha2.WorkloadTrait{
				Reference: referenceTo(t.object), Message: t.message, Status: traitStatus(former, t.object),
			})
		}
		for _, s := range part.scopes {
			w.Scopes = append(w.Scopes, oamv1alpha2.WorkloadScope{Reference: s})
		}
		p.Status.Workloads = append(p.Status.Workloads, w)
	}
	p.Status.HistoryWorkloads = slices.Clone(p.history)
}

// keepFormer adds to the status the former workloads whose objects or scopes still exist, and the
// former workloads of other revisions (formerHistory).
func (p *applicationPass) keepFormer() {
	for _, f := range p.former {
		same := func(w oamv1alpha2.WorkloadStatus) bool { return sameObjects(w, f) }
		if !slices.ContainsFunc(p.Status.Workloads, same) && !p.isHistory(f) {
			p.Status.Workloads = append(p.Status.Workloads, f)
		}
	}
	for _, f := range p.formerHistory {
		same := func(h oamv1alpha2.HistoryWorkload) bool { return h.Reference == f.Reference }
		if !slices.ContainsFunc(p.Status.HistoryWorkloads, same) {
			p.Status.HistoryWorkloads = append(p.Status.HistoryWorkloads, f)
		}
	}
}

// isHistory reports whether the workload of a former entry is in status.historyWorkloads, and its traits are those of a
// current entry: after a restart, nothing of the entry has to be deleted.
func (p *applicationPass) isHistory(f oamv1alpha2.WorkloadStatus) bool {
	sameWorkload := func(h oamv1alpha2.HistoryWorkload) bool {
		return idOf(h.Reference, p.Namespace) == idOf(f.Reference, p.Namespace)
	}
	for _, t := range f.Traits {
		isCurrent := slices.ContainsFunc(p.Status.Workloads, func(w oamv1alpha2.WorkloadStatus) bool {
			return slices.ContainsFunc(w.Traits, func(is oamv1alpha2.WorkloadTrait) bool { return is.Reference == t.Reference })
		})
		if !isCurrent {
			return false
		}
	}
	return len(f.Scopes) == 0 && slices.ContainsFunc(p.Status.HistoryWorkloads, sameWorkload)
}

// sameObjects reports whether two entries of status.workloads name the same workload, traits and
// scopes.
func sameObjects(a, b oamv1alpha2.WorkloadStatus) bool {
	sameTrait := func(s, t oamv1alpha2.WorkloadTrait) bool { return s.Reference == t.Reference }
	sameScope := func(s, t oamv1alpha2.WorkloadScope) bool { return s.Reference == t.Reference }
	return a.Reference == b.Reference &&
		slices.EqualFunc(a.Traits, b.Traits, sameTrait) && slices.EqualFunc(a.Scopes, b.Scopes, sameScope)
}

// forgetFormer removes former workloads from the status. forgetFormer is the last step: the objects
// of the former workloads are deleted, and have left their scopes.
func (*applicationReconciler) forgetFormer(_ context.Context, p *applicationPass) reconcile.Outcome {
	p.setWorkloads()
	return reconcile.Outcome{}
}

func traitStatus(former oamv1alpha2.WorkloadStatus, trait *unstructured.Unstructured) string {
	ref := referenceTo(trait)
	for _, t := range former.Traits {
		if t.Reference == ref {
			return t.Status
		}
	}
	return ""
}
