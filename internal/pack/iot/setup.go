package iot

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// workers is how many IotConnectors are worked on at once. The API server is what
// limits them.
const workers = 16

// eventSource is whom events come from.
const eventSource = "kinship-iot"

// Setup adds the pack's controllers and handlers to a manager.
func Setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	made, err := newCache(mgr, env)
	if err != nil {
		return err
	}
	v := &view{indexers: map[schema.GroupKind]toolscache.Indexer{}}
	kinds, err := composedKinds(mgr, options)
	if err != nil {
		return err
	}
	r := &reconciler{
		client: mgr.GetClient(), view: v, blocked: &blocked{},
		applier: &apply.Applier{Client: env.Live, FieldOwner: fieldOwner, View: v},
		events:  mgr.GetEventRecorder(eventSource), clock: clock.RealClock{}, identity: options.Identity,
	}
	b := controllerFor(mgr, "iotconnector", workers).
		For(&iotv1alpha1.IotConnector{}, builder.WithPredicates(changedByOthers))
	for _, gvk := range kinds {
		obj := informed(gvk)
		if err := v.hear(ctx, made, gvk.GroupKind(), obj); err != nil {
			return err
		}
		b = b.WatchesRawSource(source.Kind(made, obj, r.wakes(gvk.GroupKind()), changedForUs))
	}
	if err := b.Complete(reconcile.Quiet(reconcile.Behind(mgr, r))); err != nil {
		return fmt.Errorf("make controller for IotConnectors: %w", err)
	}
	if err := rollouts(mgr); err != nil {
		return err
	}
	return serve(mgr, env, options)
}

// controllerFor begins a controller. Names are unique in a process; tests run
// several operators in one.
func controllerFor(mgr manager.Manager, name string, workers int) *builder.Builder {
	skip := true
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(controller.Options{
		MaxConcurrentReconciles: workers, SkipNameValidation: &skip,
	})
}

// newCache makes the cache of what is made. The manager's own drops the managed
// fields, by which edits are noticed.
func newCache(mgr manager.Manager, env pack.Environment) (cache.Cache, error) {
	made, err := env.NewCache(cache.Options{DefaultTransform: trim})
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	if err := mgr.Add(made); err != nil {
		return nil, fmt.Errorf("add cache: %w", err)
	}
	return made, nil
}

// composedKinds returns the kinds that are made.
func composedKinds(mgr manager.Manager, options Options) ([]schema.GroupVersionKind, error) {
	if options.Identity != PodIdentity {
		return []schema.GroupVersionKind{deploymentKind, accountKind}, nil
	}
	kinds := []schema.GroupVersionKind{deploymentKind, azureIdentityKind, azureBindingKind}
	for _, gvk := range kinds {
		_, err := mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("identity is %s, and the cluster does not know the kind %s: "+
				"install its definition, or use %s", PodIdentity, gvk.Kind, WorkloadIdentity)
		}
		if err != nil {
			return nil, fmt.Errorf("find kind %s: %w", gvk.Kind, err)
		}
	}
	return kinds, nil
}

// informed returns what to watch a kind with. It is not the metadata alone: a cache
// of controller-runtime leaves a goroutine behind with each watch of that.
func informed(gvk schema.GroupVersionKind) client.Object {
	switch gvk {
	case deploymentKind:
		return &appsv1.Deployment{}
	case accountKind:
		return &corev1.ServiceAccount{}
	default:
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gvk)
		return obj
	}
}

// serve adds the admission handlers.
func serve(mgr manager.Manager, env pack.Environment, options Options) error {
	if env.Enforcement != pack.ByWebhook {
		return nil
	}
	v := &validator{reviewer: env.Reviewer, operators: env.Operators, identity: options.Identity}
	server := mgr.GetWebhookServer()
	server.Register(validatePath, &webhook.Admission{Handler: v})
	server.Register(defaultPath, &webhook.Admission{Handler: admission.HandlerFunc(v.Default)})
	return nil
}
