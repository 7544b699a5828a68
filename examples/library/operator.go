// Package library is an operator in sixty lines: the example of docs/library.md. A Ship lies at a
// Pier, belongs to a Fleet and waits for its Lighthouse. A Flag changes the Ship that it names.
package library

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

var (
	harbour           = schema.GroupVersion{Group: "harbour.example", Version: "v1"}
	ship, pier, fleet = harbour.WithKind("Ship"), harbour.WithKind("Pier"), harbour.WithKind("Fleet")
	flag, lighthouse  = harbour.WithKind("Flag"), harbour.WithKind("Lighthouse")
	papers            = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// Ships and Flags are the relations of the two kinds.
var (
	Ships = []relation.Relation{
		of(ship, "ship-pier", relation.Dependency, "spec.pierRef", pier, "A Ship waits for its Pier, which stays."),
		of(ship, "ship-light", relation.Dependency, "spec.lighthouseRef", lighthouse, "A Ship waits for its Lighthouse."),
		of(ship, "ship-fleet", relation.Owner, "spec.fleetRef", fleet, "A Ship is deleted with its Fleet."),
		of(ship, "ship-papers", relation.Composition, "metadata.name", papers, "A Ship has a ConfigMap of its name."),
	}
	// Flags are the relations of a Flag. The field that names the Ship is itself named in spec.path.
	Flags = []relation.Relation{relation.Reference{
		Name: "flag-ship", Role: relation.Binding, Doc: "A Flag colours the Ship that the field at spec.path names.",
		Declarer: flag.GroupKind(), PathAt: relation.MustPath("spec.path"), Target: ship.GroupKind(),
	}.Relation()}
)

func of(source schema.GroupVersionKind, name string, role relation.Role, path string,
	target schema.GroupVersionKind, doc string,
) relation.Relation {
	r := relation.Reference{Name: name, Role: role, Doc: doc, Declarer: source.GroupKind(), Target: target.GroupKind()}
	r.Path = relation.MustPath(path)
	if role == relation.Dependency {
		r.Finalizer = "harbour.example/ship"
	}
	return r.Relation()
}

// New returns the operator's engine. Its Start adds all that runs to the manager.
func New(mgr manager.Manager, live client.Client, catalog *watch.Catalog) *engine.Engine {
	e := engine.New(mgr, engine.Options{Name: "harbour.example", Live: live, Catalog: catalog})
	for _, gvk := range []schema.GroupVersionKind{fleet, lighthouse, papers} {
		e.Watch(gvk)
	}
	e.Add(engine.Kind{GVK: pier, Ready: engine.IsReady})
	e.Add(engine.Kind{GVK: ship, Ready: engine.IsReady, Relations: Ships, Work: operator{live}.sail})
	e.Add(engine.Kind{GVK: flag, Relations: Flags, Work: operator{live}.hoist})
	return e
}

type operator struct{ live client.Client }

// sail makes the papers of a Ship whose references are ready.
func (o operator) sail(ctx context.Context, w *engine.Work) reconcile.Outcome {
	if w.Refs.Object(papers.GroupKind(), w.ID.Name) != nil {
		return reconcile.Outcome{}
	}
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ID.Namespace, Name: w.ID.Name}}
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.Object, ship)}
	return reconcile.Fail("NoPapers", client.IgnoreAlreadyExists(o.live.Create(ctx, made)))
}

// hoist writes the colour of a Flag on its Ship.
func (o operator) hoist(ctx context.Context, w *engine.Work) (outcome reconcile.Outcome) {
	const key = "harbour.example/flag"
	colour, _, _ := unstructured.NestedString(w.Object.(*unstructured.Unstructured).Object, "spec", "colour")
	for _, target := range w.Refs.Targets() {
		if target.Object().GetAnnotations()[key] != colour {
			flagged := guard.Partial(ship, target.Object())
			flagged.SetAnnotations(map[string]string{key: colour})
			err := o.live.Apply(ctx, client.ApplyConfigurationFromUnstructured(flagged), client.FieldOwner(key))
			outcome = outcome.And(reconcile.Fail("NotHoisted", err))
		}
	}
	return outcome
}
