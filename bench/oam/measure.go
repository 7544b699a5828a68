package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

const (
	namespace = "bench-oam"
	replicas  = 3
	// drifts is the number of objects that reportDrift deletes and edits for each figure.
	drifts = 20
	// scoped is the number of ApplicationConfigurations that join one HealthScope in reportScope.
	scoped = 20
)

// meter measures one implementation.
type meter struct {
	flags

	client  client.WithWatch
	clients kubernetes.Interface
	out     io.Writer
}

// counted are the resources whose requests meter.requests counts, whichever client sends a request.
// The program subtracts its own requests.
var counted = []string{
	"applicationconfigurations", "components", "containerizedworkloads", "manualscalertraits", "healthscopes",
	"deployments", "services", "configmaps", "controllerrevisions", "subjectaccessreviews",
}

func (m *meter) measure(ctx context.Context) error {
	if err := m.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		_ = m.client.Delete(context.WithoutCancel(ctx), ns) // A local control plane ends anyway.
	}()
	before, err := m.requests(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := m.create(ctx); err != nil {
		return err
	}
	if err := m.awaitScaled(ctx); err != nil {
		return err
	}
	fmt.Fprintf(m.out, "%d applications, all scaled           %6.1f s\n", m.applications, time.Since(begin).Seconds())
	after, err := m.settled(ctx)
	if err != nil {
		return err
	}
	sent := after - before - 2*m.applications // The program creates a Component and an application each.
	fmt.Fprintf(m.out, "requests for each application         %6.1f\n", float64(sent)/float64(m.applications))
	if err := m.reportIdle(ctx); err != nil {
		return err
	}
	if err := m.reportDrift(ctx); err != nil {
		return err
	}
	if err := m.reportScope(ctx); err != nil {
		return fmt.Errorf("one scope: %w", err)
	}
	return m.reportMemory()
}

// requests returns the number of requests about the `counted` resources so far.
func (m *meter) requests(ctx context.Context) (int, error) {
	counts, err := gauge.ReadCounts(ctx, m.clients.Discovery().RESTClient())
	if err != nil {
		return 0, err
	}
	sum := 0
	for request, n := range counts {
		// Kubernetes' own controllers write deployments/status.
		isStatus := request.Resource == "deployments" && request.Subresource == "status"
		if slices.Contains(counted, request.Resource) && !isStatus {
			sum += n
		}
	}
	return sum, nil
}

// settled returns meter.requests once the number has not grown for 15 seconds:
// kube-controller-manager sends at most 20 requests a second, so its controller of Deployments may
// pause for some seconds.
func (m *meter) settled(ctx context.Context) (int, error) {
	last, same := -1, 0
	err := wait.PollUntilContextCancel(ctx, 3*time.Second, true, func(ctx context.Context) (bool, error) {
		now, err := m.requests(ctx)
		if same++; now != last {
			last, same = now, 0
		}
		return same == 5, err
	})
	return last, err
}

func (m *meter) prepare(ctx context.Context) error {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&oamv1alpha2.WorkloadDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: "containerizedworkloads.core.oam.dev"},
			Spec: oamv1alpha2.WorkloadDefinitionSpec{
				Reference: oamv1alpha2.DefinitionReference{Name: "containerizedworkloads.core.oam.dev"},
				ChildResourceKinds: []oamv1alpha2.ChildResourceKind{
					{APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "v1", Kind: "Service"},
				},
			},
		},
		&oamv1alpha2.ScopeDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: "healthscopes.core.oam.dev"},
			Spec: oamv1alpha2.ScopeDefinitionSpec{
				Reference:             oamv1alpha2.DefinitionReference{Name: "healthscopes.core.oam.dev"},
				WorkloadRefsPath:      "spec.workloadRefs",
				AllowComponentOverlap: true,
			},
		},
		&oamv1alpha2.TraitDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: "manualscalertraits.core.oam.dev"},
			Spec: oamv1alpha2.TraitDefinitionSpec{
				Reference:       oamv1alpha2.DefinitionReference{Name: "manualscalertraits.core.oam.dev"},
				WorkloadRefPath: "spec.workloadRef",
			},
		},
	}
	// The API server serves a new CRD, and calls a new webhook, a moment after the installation.
	var failed error
	err := wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		failed = m.tryPrepare(ctx, objects)
		return failed == nil, nil
	})
	if err != nil {
		return fmt.Errorf("prepare the cluster: %w", failed)
	}
	return nil
}

// tryPrepare creates objects, and creates a Component with client.DryRunAll, which fails until the
// webhook answers.
func (m *meter) tryPrepare(ctx context.Context, objects []client.Object) error {
	for _, obj := range objects {
		if err := client.IgnoreAlreadyExists(m.client.Create(ctx, copyOf(obj))); err != nil {
			return err
		}
	}
	try := &oamv1alpha2.Component{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "try"}}
	try.Spec.Workload = raw(map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	return m.client.Create(ctx, try, client.DryRunAll)
}

func (m *meter) create(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range m.applications {
		group.Go(func() error {
			meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("app-%04d", i)}
			c := &oamv1alpha2.Component{ObjectMeta: meta}
			c.Spec.Workload = raw(map[string]any{
				"apiVersion": oamv1alpha2.GroupVersion.String(), "kind": oamv1alpha2.KindContainerizedWorkload,
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "web", "image": "web", "ports": []any{map[string]any{"name": "http", "containerPort": 80}},
				}}},
			})
			ac := &oamv1alpha2.ApplicationConfiguration{ObjectMeta: meta}
			ac.Spec.Components = []oamv1alpha2.ApplicationConfigurationComponent{{
				ComponentName: meta.Name, Traits: []oamv1alpha2.ComponentTrait{{Trait: raw(map[string]any{
					"apiVersion": oamv1alpha2.GroupVersion.String(), "kind": oamv1alpha2.KindManualScalerTrait,
					"metadata": map[string]any{"name": meta.Name}, "spec": map[string]any{"replicaCount": replicas},
				})}},
			}}
			if err := m.client.Create(ctx, c); err != nil {
				return fmt.Errorf("create component: %w", err)
			}
			return m.client.Create(ctx, ac)
		})
	}
	return group.Wait()
}

func raw(content map[string]any) runtime.RawExtension {
	text, err := json.Marshal(content)
	if err != nil {
		panic(err) // The content is a literal.
	}
	return runtime.RawExtension{Raw: text}
}

// awaitScaled waits until each Deployment has the replicas of its ManualScalerTrait.
func (m *meter) awaitScaled(ctx context.Context) error {
	scaled := map[string]bool{}
	w, err := m.client.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace))
	if err != nil {
		return fmt.Errorf("watch Deployments: %w", err)
	}
	defer w.Stop()
	for len(scaled) < m.applications {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event := <-w.ResultChan():
			if d, ok := event.Object.(*appsv1.Deployment); ok && isScaled(d) {
				scaled[d.Name] = true
			}
		}
	}
	return nil
}

// isScaled reports whether spec.replicas of a Deployment, or spec.replicaCount of a
// ManualScalerTrait, is `replicas`.
func isScaled(obj client.Object) bool {
	switch obj := obj.(type) {
	case *appsv1.Deployment:
		return obj.Spec.Replicas != nil && *obj.Spec.Replicas == replicas
	case *oamv1alpha2.ManualScalerTrait:
		return obj.Spec.ReplicaCount == replicas
	default:
		return false
	}
}

func (m *meter) reportIdle(ctx context.Context) error {
	before, err := m.requests(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(m.idle):
	}
	after, err := m.requests(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.out, "requests in %s of idleness           %6d\n", m.idle, after-before)
	return nil
}

// reportDrift deletes and edits objects, one at a time, and prints the times until the operator has
// restored each object.
func (m *meter) reportDrift(ctx context.Context) error {
	scale := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))
	count := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicaCount":1}}`))
	for _, harm := range []struct {
		what string
		obj  client.Object
		do   func(client.Object) error
	}{
		{"Deployment deleted", &appsv1.Deployment{}, func(o client.Object) error { return m.client.Delete(ctx, o) }},
		{"trait deleted", &oamv1alpha2.ManualScalerTrait{}, func(o client.Object) error { return m.client.Delete(ctx, o) }},
		{"trait edited", &oamv1alpha2.ManualScalerTrait{}, func(o client.Object) error {
			return m.client.Patch(ctx, o, count)
		}},
		{"replicas edited", &appsv1.Deployment{}, func(o client.Object) error { return m.client.Patch(ctx, o, scale) }},
	} {
		var times []time.Duration
		for i := range min(drifts, m.applications) {
			harm.obj.SetNamespace(namespace)
			harm.obj.SetName(fmt.Sprintf("app-%04d", i))
			took, err := m.restored(ctx, harm.obj, harm.do)
			if err != nil {
				return fmt.Errorf("%s: %w", harm.what, err)
			}
			times = append(times, took)
		}
		slices.Sort(times)
		fmt.Fprintf(m.out, "%-19s -> back, median / max   %4d / %d ms\n", harm.what, times[len(times)/2].Milliseconds(),
			times[len(times)-1].Milliseconds())
	}
	return nil
}

// restored calls harm for an object, and returns the time until isScaled(object) is true again.
func (m *meter) restored(
	ctx context.Context, obj client.Object, harm func(client.Object) error,
) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := m.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return 0, err
	}
	before := obj.GetResourceVersion()
	begin := time.Now()
	if err := harm(obj); err != nil {
		return 0, err
	}
	err := wait.PollUntilContextCancel(ctx, 2*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		now := obj.DeepCopyObject().(client.Object)
		if err := m.client.Get(ctx, client.ObjectKeyFromObject(obj), now); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return now.GetResourceVersion() != before && now.GetDeletionTimestamp() == nil && isScaled(now), nil
	})
	return time.Since(begin), err
}

// reportScope lets ApplicationConfigurations join one HealthScope at once, and prints the time
// until the status of the HealthScope has all their workloads.
func (m *meter) reportScope(ctx context.Context) error {
	scope := &oamv1alpha2.HealthScope{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scope"}}
	if err := m.client.Create(ctx, scope); err != nil {
		return fmt.Errorf("create scope: %w", err)
	}
	ref := oamv1alpha2.TypedReference{
		APIVersion: oamv1alpha2.GroupVersion.String(), Kind: oamv1alpha2.KindHealthScope, Name: scope.Name,
	}
	members := min(scoped, m.applications)
	begin := time.Now()
	group, joining := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range members {
		group.Go(func() error {
			ac := &oamv1alpha2.ApplicationConfiguration{}
			key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("app-%04d", i)}
			if err := m.client.Get(joining, key, ac); err != nil {
				return err
			}
			before := ac.DeepCopy()
			ac.Spec.Components[0].Scopes = []oamv1alpha2.ComponentScope{{ScopeReference: ref}}
			return m.client.Patch(joining, ac, client.MergeFrom(before))
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("add scope to application: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			err := m.client.Get(ctx, client.ObjectKeyFromObject(scope), scope)
			return scope.Status.ScopeHealthCondition.Total == int64(members), err
		})
	if err != nil {
		return fmt.Errorf("wait for the sum: %w", err)
	}
	fmt.Fprintf(m.out, "%d applications join a scope -> summed up  %6d ms\n", members, time.Since(begin).Milliseconds())
	return nil
}

func (m *meter) reportMemory() error {
	if m.operatorPID == 0 {
		return nil
	}
	used, err := gauge.ReadProcess("/proc", m.operatorPID)
	if err != nil {
		fmt.Fprintln(os.Stderr, "The memory of the operator is not known:", err)
		return nil
	}
	fmt.Fprintf(m.out, "memory of the operator, at most       %6d MiB (%d MiB)\n", used.RSS>>20, used.Peak>>20)
	fmt.Fprintf(m.out, "processor time of the operator        %6.1f s\n", used.CPU.Seconds())
	return nil
}

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }
