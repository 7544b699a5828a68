package install_test

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
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/localcluster"
	process "github.com/kinship-dev/kinship/internal/operator"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
	"github.com/kinship-dev/kinship/test/operator"
)

const (
	lockLabel = "crossplane.io/in-use"
	finalizer = "usage.kinship.dev/in-use"
)

func TestMain(m *testing.M) {
	operator.Packs("usage") // Each start installs the definitions of its packs; see allPacks.
	testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks(),
		testenv.ControlPlane(func(o *localcluster.Options) {
			// Like OpenShift. The tests must not depend on this plugin being off.
			o.ExtraArgs = map[string][]string{
				localcluster.APIServer: {"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
			}
		}))
}

// allPacks makes an operator install and run all packs.
func allPacks(o *options.Options) { o.Packs = nil }

// optionsFor returns the options of an operator outside of the cluster.
func optionsFor(t *testing.T) options.Options {
	t.Helper()
	return options.Options{
		Config: testenv.Config(t), WebhookHost: "127.0.0.1", MetricsAddress: "0", HealthAddress: "0", Log: logr.Discard(),
	}
}

// run runs an operator that must fail, and returns its error.
func run(t *testing.T, o options.Options) error {
	t.Helper()
	ctrlmetrics.Registry = prometheus.NewRegistry() // In production, a process has one operator.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := process.Run(ctx, o)
	if err == nil {
		t.Fatal("the operator ran until it was stopped, want an error")
	}
	t.Logf("the error: %v", err)
	return err
}

func silent(string, ...any) {}

// removeAll removes everything and checks that nothing is left.
func removeAll(t *testing.T) {
	t.Helper()
	everything := uninstall.Options{WithObjects: true, Say: silent}
	if err := uninstall.Uninstall(t.Context(), optionsFor(t), everything); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
	// Kubernetes takes APIServices away by itself, after their definitions.
	testenv.Eventually(t, func() error { return checkNothingLeft(t) })
}

// everything returns the metadata of all objects in the cluster, of kinds that
// can be listed.
func everything(t *testing.T) map[string]metav1.PartialObjectMetadata {
	t.Helper()
	config := testenv.Config(t)
	config.WarningHandler = rest.NoWarnings{} // Some API versions are deprecated.
	disc, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := disc.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]metav1.PartialObjectMetadata{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") {
				continue
			}
			found, err := objects.Resource(gv.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // The definition has just gone.
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range found.Items {
				all[fmt.Sprintf("%s.%s %s/%s", r.Name, gv.Group, item.Namespace, item.Name)] = item
			}
		}
	}
	return all
}

// ours are words in the names of our objects, and of the published API's objects.
var ours = []string{"kinship", "crossplane"}

// checkNothingLeft looks for whatever could be left in the cluster. It reads all kinds only once
// our kinds are gone: callers poll, and to read all kinds takes 90 requests.
func checkNothingLeft(t *testing.T) error {
	t.Helper()
	for _, list := range []*metav1.PartialObjectMetadataList{
		listOf("apiextensions.k8s.io/v1", "CustomResourceDefinitionList"),
		listOf("apiregistration.k8s.io/v1", "APIServiceList"),
	} {
		if err := operator.Client(t).List(t.Context(), list); err != nil {
			return err
		}
		for _, item := range list.Items {
			if slices.ContainsFunc(ours, func(word string) bool { return strings.Contains(item.Name, word) }) {
				return fmt.Errorf("%s %s is left", item.Kind, item.Name)
			}
		}
	}
	var left []error
	for name, obj := range everything(t) {
		if strings.HasPrefix(name, "events") {
			continue // Events expire.
		}
		for _, word := range ours {
			if strings.Contains(name, word) {
				left = append(left, fmt.Errorf("%s is left", name))
			}
		}
		if _, locked := obj.Labels[lockLabel]; locked {
			left = append(left, fmt.Errorf("%s is still locked", name))
		}
		if slices.Contains(obj.Finalizers, finalizer) {
			left = append(left, fmt.Errorf("%s still has our finalizer", name))
		}
	}
	return errors.Join(left...)
}

// listOf returns an empty list of metadata.
func listOf(apiVersion, kind string) *metav1.PartialObjectMetadataList {
	return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
}

// isLocked returns nil if an object of the core group carries the lock.
func isLocked(t *testing.T, kind, namespace, name string) error {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}
	if err := operator.Client(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); err != nil {
		return err
	}
	if _, ok := obj.Labels[lockLabel]; !ok {
		return fmt.Errorf("%s %s is not locked", kind, name)
	}
	return nil
}

// snapshot returns the versions of everything that an installation could touch.
func snapshot(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for name, obj := range everything(t) {
		if strings.HasPrefix(name, "namespaces. /test") || strings.HasPrefix(obj.Namespace, "test") {
			continue // The namespaces of earlier tests are deleted by and by.
		}
		for _, kind := range []string{
			"customresourcedefinitions.", "validating", "mutating", "clusterrole", "role", "namespaces.", "secrets.", "usages.",
		} {
			if strings.HasPrefix(name, kind) {
				versions[name] = obj.ResourceVersion
			}
			if strings.HasPrefix(name, "validatingadmissionpolicies.") {
				// Kubernetes writes a status, and then sorts managedFields anew.
				versions[name] = fmt.Sprint(obj.UID, obj.Generation, obj.Labels)
			}
		}
	}
	return versions
}

func checkUnchanged(t *testing.T, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, snapshot(t)); diff != "" {
		t.Errorf("the cluster has changed (-before +after):\n%s", diff)
	}
}

// checkWorks protects an object and releases it again.
func checkWorks(t *testing.T, refused func(error) bool) {
	t.Helper()
	c, namespace := operator.Client(t), testenv.Namespace(t)
	// The operator is ready a moment before the API server knows its certificate.
	testenv.Eventually(t, func() error {
		_, err := testenv.TryApply(t, operator.Protected, testenv.In(namespace))
		return err
	})
	objects := testenv.Apply(t, operator.Protected, testenv.In(namespace))
	precious, usage := objects[0], objects[1]
	testenv.Eventually(t, func() error { return isReady(t, c, usage) })
	if err := c.Delete(t.Context(), precious); !refused(err) {
		t.Errorf("deletion was answered with %v, want a refusal", err)
	}
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), precious) })
}

func isReady(t *testing.T, c client.Client, usage client.Object) error {
	t.Helper()
	var u protectionv1beta1.Usage
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(usage), &u); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(u.Status.Conditions, "Ready")
	if ready == nil {
		return errors.New("no condition Ready")
	}
	if ready.Status != metav1.ConditionTrue {
		return errors.New(ready.Message)
	}
	return nil
}
