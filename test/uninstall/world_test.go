package uninstall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudazure "github.com/kinship-dev/kinship/internal/cloud/azure"
	azure "github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	openstack "github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/story"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	lockLabel = "crossplane.io/in-use"
	// stories is the namespace of the examples.
	stories = "kinship-stories"
)

// world is a cluster with an operator of all packs and the examples of all packs.
type world struct {
	t  *testing.T
	c  client.Client
	op *operator.Operator
	// removed are the objects that the order deletes.
	removed []removal
}

// newWorld starts clouds and an operator, and applies the examples.
func newWorld(t *testing.T) *world {
	t.Helper()
	clouds := operator.Cloud(t, openstack.Options{}).CloudsYAML()
	resources, err := azure.Start(azure.Options{RetryAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resources.Close() }) // The data of the emulator is not needed any more.
	w := &world{t: t, c: operator.Client(t)}
	w.op = operator.Start(t, func(o *options.Options) {
		o.Azure.Endpoint, o.Azure.Credential = resources.URL(), cloudazure.NoCredential
		o.Azure.Subscription = story.AzureSubscription
	})
	stage, err := story.NewStage(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { return story.EnableAzure(ctx, testenv.Config(t)) },
		func(ctx context.Context) error { return story.Define(ctx, stage, clouds) },
		func(ctx context.Context) error { return story.Leave(ctx, stage, clouds) },
	} {
		// A busy machine may answer for a webhook too late.
		testenv.EventuallyWithin(t, 3*time.Minute, func() error { return do(t.Context()) })
	}
	return w
}

// stop stops the operator. An operator whose accounts are gone may end with an error.
func (w *world) stop() {
	w.t.Helper()
	if err := w.op.Stop(); err != nil {
		w.t.Logf("the operator ended with: %v", err)
	}
}

// remove deletes objects, and notes the refusals of the API server. remove does not wait for the end of the
// objects.
func (w *world) remove(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		err := w.c.Delete(w.t.Context(), obj)
		w.removed = append(w.removed, removal{obj, client.IgnoreNotFound(err)})
	}
}

// removal is an object that an order deletes, with the refusal of the API server.
type removal struct {
	object  client.Object
	refusal error
}

// asked is in each expected refusal: the webhook denied the deletion, or no operator answered the webhook.
const asked = `webhook "nousages.protection.crossplane.io"`

// declarations are the definitions of Usages. The webhook is asked about their deletion, and denies the
// deletion while a Usage protects an object.
var declarations = []string{
	"clusterusages.protection.crossplane.io", "usages.apiextensions.crossplane.io", "usages.protection.crossplane.io",
}

// begun expects that each object that was to be removed is gone or being deleted, but for the names in
// refused: the deletions of these were refused by the webhook, or because no operator answered the webhook.
func (w *world) begun(refused ...string) {
	w.t.Helper()
	var got []string
	for _, r := range w.removed {
		what := fmt.Sprintf("%T %s", r.object, r.object.GetName())
		if r.refusal != nil {
			got = append(got, r.object.GetName())
			if !strings.Contains(r.refusal.Error(), asked) {
				w.t.Errorf("the deletion of %s was refused: %v", what, r.refusal)
			}
			continue
		}
		err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(r.object), r.object)
		if client.IgnoreNotFound(err) != nil {
			w.t.Errorf("read %s: %v", what, err)
		}
		if err == nil && r.object.GetDeletionTimestamp().IsZero() {
			w.t.Errorf("%s is not being deleted", what)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(refused, got, cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("refused deletions of %d (-want +got):\n%s", len(w.removed), diff)
	}
}

// removeNamespace deletes a namespace.
func (w *world) removeNamespace(name string) {
	w.t.Helper()
	w.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// removeDefinitions deletes the definitions of all packs.
func (w *world) removeDefinitions() {
	w.t.Helper()
	var all apiextensionsv1.CustomResourceDefinitionList
	if err := w.c.List(w.t.Context(), &all, client.MatchingLabels{"app.kubernetes.io/part-of": "kinship"}); err != nil {
		w.t.Fatal(err)
	}
	if len(all.Items) < 20 {
		w.t.Fatalf("%d definitions of Kinship are installed", len(all.Items))
	}
	for i := range all.Items {
		w.remove(&all.Items[i])
	}
}

// removeChart deletes what `helm uninstall` deletes: everything but the definitions and the namespace.
func (w *world) removeChart() {
	w.t.Helper()
	o := options.Options{Config: testenv.Config(w.t), WebhookHost: "127.0.0.1", WebhookPort: 1}
	objects, err := install.Objects(o, true)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, obj := range objects {
		switch obj.(type) {
		case *apiextensionsv1.CustomResourceDefinition, *corev1.Namespace:
		default:
			w.remove(obj)
		}
	}
}

// uninstall runs `kinship uninstall --with-objects`.
func (w *world) uninstall() {
	w.t.Helper()
	o := options.Options{Config: testenv.Config(w.t), Log: logr.Discard()}
	err := uninstall.Uninstall(w.t.Context(), o, uninstall.Options{
		WithObjects: true, ForceLive: true, Say: func(format string, args ...any) { w.t.Logf(format, args...) },
	})
	if err != nil {
		w.t.Errorf("uninstall: %v", err)
	}
}

// nothingStuck deletes the namespaces and the definitions of the examples, and waits until no object is
// being deleted or has a mark of Kinship.
func (w *world) nothingStuck() {
	w.t.Helper()
	for _, name := range []string{stories, options.Namespace} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := w.c.Delete(w.t.Context(), ns); client.IgnoreNotFound(err) != nil {
			w.t.Errorf("delete namespace %s: %v", name, err)
		}
	}
	var all apiextensionsv1.CustomResourceDefinitionList
	if err := w.c.List(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for i := range all.Items {
		if err := w.c.Delete(w.t.Context(), &all.Items[i]); client.IgnoreNotFound(err) != nil {
			w.t.Errorf("delete definition %s: %v", all.Items[i].Name, err)
		}
	}
	testenv.Eventually(w.t, func() error { return stuck(w.t) })
}

// marks are parts of the names of labels, finalizers and objects that only Kinship sets.
var marks = []string{
	"kinship", "crossplane.io", "openstack.k-orc.cloud", "infra.azure.com", "oam.dev", "azurehealthcareapis",
}

func isMark(name string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(name, mark) })
}

// stuck returns an error for each object that is being deleted or that has a mark of Kinship.
func stuck(t *testing.T) error {
	t.Helper()
	config := testenv.Config(t)
	config.WarningHandler, config.QPS = rest.NoWarnings{}, -1 // Some API versions are deprecated.
	disc, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	lists, err := disc.ServerPreferredResources()
	if err != nil {
		return err
	}
	var found []error
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && r.Kind != "Event" && r.Kind != "Node" {
				found = append(found, stuckOf(t.Context(), objects, gv.WithResource(r.Name)))
			}
		}
	}
	return errors.Join(found...)
}

// stuckOf is stuck for the objects of one resource.
func stuckOf(ctx context.Context, objects metadata.Interface, resource schema.GroupVersionResource) error {
	list, err := objects.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // The definition has just gone.
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	var found []error
	for _, item := range list.Items {
		name := fmt.Sprintf("%s %s/%s", resource.GroupResource(), item.Namespace, item.Name)
		if item.DeletionTimestamp != nil {
			found = append(found, fmt.Errorf("%s is being deleted, with finalizers %v", name, item.Finalizers))
		}
		if _, locked := item.Labels[lockLabel]; locked || isMark(item.Name) || slices.ContainsFunc(item.Finalizers, isMark) {
			found = append(found, fmt.Errorf("%s is left, with labels %v and finalizers %v", name, item.Labels, item.Finalizers))
		}
	}
	return errors.Join(found...)
}
