package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// userAgent is the name of this program in the API server's audit log.
const userAgent = "kinship-bench"

// rig has the clients and observers of the scenarios.
type rig struct {
	o   *options
	log func(format string, args ...any)
	// run is the name of this run, such as bench-x7k2p. run is also the namespace and the value of
	// runLabel of its objects.
	run     string
	kind    objectKind
	clients *kubernetes.Clientset
	all     dynamic.Interface
	objects dynamic.ResourceInterface
	usages  dynamic.ResourceInterface
	// objectData and usageData read and watch metadata only.
	objectData metadataclient.ResourceInterface
	usageData  metadataclient.ResourceInterface
	// stripping writes objects as options.stripAs, a user who may remove lockLabel.
	stripping   dynamic.ResourceInterface
	seenObjects *observer
	seenUsages  *observer
	meter       *meter
	report      *report
	serial      atomic.Int64
	// restart ends the operator and starts it again, and returns the time and the process ID.
	// restart is nil if this program did not start the operator.
	restart func(context.Context) (at time.Time, pid int, err error)
}

// newRig connects to the cluster, waits until the API server serves the kind of Usage, and creates
// a Namespace for a namespaced kind.
func newRig(ctx context.Context, o *options, config *rest.Config, progress io.Writer) (*rig, error) {
	own := newOwnRequests()
	config.QPS = -1 // The client must not limit the measured rate.
	config.UserAgent = userAgent
	config.WarningHandlerWithContext = rest.NoWarnings{} // The API server warns about each Usage.
	config.Wrap(own.wrap)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make HTTP client: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	r := &rig{
		o: o, clients: clients, run: "bench-" + rand.String(5), report: newReport(o),
		meter: newMeter(clients.Discovery().RESTClient(), own, o),
		log:   func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) },
	}
	isNamespaced, err := awaitServed(ctx, clients.Discovery(), o)
	if err != nil {
		return nil, err
	}
	if err := r.choose(ctx, config, httpClient, isNamespaced); err != nil {
		return nil, err
	}
	return r, r.observe(ctx)
}

// choose sets rig.kind to configMaps or runtimeClasses, and creates the clients.
func (r *rig) choose(ctx context.Context, config *rest.Config, httpClient *http.Client, isNamespaced bool) error {
	all, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return fmt.Errorf("make dynamic client: %w", err)
	}
	data, err := metadataclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return fmt.Errorf("make metadata client: %w", err)
	}
	stripping, err := dynamic.NewForConfig(r.strippingConfig(config))
	if err != nil {
		return fmt.Errorf("make dynamic client: %w", err)
	}
	r.all = all
	usages := r.o.usage.gvr()
	if !isNamespaced {
		r.kind = runtimeClasses
		r.objects, r.objectData = all.Resource(r.kind.gvr), data.Resource(r.kind.gvr)
		r.stripping = stripping.Resource(r.kind.gvr)
		r.usages, r.usageData = all.Resource(usages), data.Resource(usages)
		return nil
	}
	r.kind = configMaps
	r.stripping = stripping.Resource(r.kind.gvr).Namespace(r.run)
	r.objects, r.objectData = all.Resource(r.kind.gvr).Namespace(r.run), data.Resource(r.kind.gvr).Namespace(r.run)
	r.usages, r.usageData = all.Resource(usages).Namespace(r.run), data.Resource(usages).Namespace(r.run)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.run}}
	if _, err := r.clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	return nil
}

// observe starts two watches: of the objects' metadata, and of whole Usages with their conditions.
func (r *rig) observe(ctx context.Context) (err error) {
	r.seenObjects, err = observe(ctx,
		func(ctx context.Context) (string, error) {
			list, err := r.objectData.List(ctx, r.selected(metav1.ListOptions{Limit: 1}))
			if err != nil {
				return "", err
			}
			return list.ResourceVersion, nil
		},
		func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return r.objectData.Watch(ctx, r.selected(options))
		})
	if err != nil {
		return fmt.Errorf("observe objects: %w", err)
	}
	r.seenUsages, err = observe(ctx,
		func(ctx context.Context) (string, error) {
			list, err := r.usageData.List(ctx, r.selected(metav1.ListOptions{Limit: 1}))
			if err != nil {
				return "", err
			}
			return list.ResourceVersion, nil
		},
		func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return r.usages.Watch(ctx, r.selected(options))
		})
	if err != nil {
		return fmt.Errorf("observe usages: %w", err)
	}
	return nil
}

// selected restricts a list or watch to the objects of this run, by runLabel.
func (r *rig) selected(options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector = runLabel + "=" + r.run
	return options
}

// newPair returns a new name for a Usage.
func (r *rig) newPair(prefix string) pair {
	return pair(fmt.Sprintf("%s-%s-%06d", r.run, prefix, r.serial.Add(1)))
}

func (r *rig) createObject(ctx context.Context, name string, owners ...metav1.OwnerReference) error {
	_, err := r.objects.Create(ctx, r.kind.object(r.run, name, owners...), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create object: %w", err)
	}
	return nil
}

// createObjects creates the used and the using object of a pair.
func (r *rig) createObjects(ctx context.Context, p pair) error {
	return errors.Join(r.createObject(ctx, p.of()), r.createObject(ctx, p.by()))
}

func (r *rig) createUsage(ctx context.Context, p pair, m manner) error {
	_, err := r.usages.Create(ctx, usageOf(r.o.usage, r.kind, r.run, p, m), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create usage: %w", err)
	}
	return nil
}

// createReady creates the Usage of a pair whose objects exist, and waits until the Usage is Ready.
func (r *rig) createReady(ctx context.Context, p pair, m manner) error {
	ready := r.seenUsages.expect(string(p), "Ready", isReady)
	if err := r.createUsage(ctx, p, m); err != nil {
		return err
	}
	_, err := ready.wait(ctx, r.o.timeout)
	return err
}

func (r *rig) deleteObject(ctx context.Context, name string) error {
	if err := r.objects.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	return nil
}

// isRefusal reports whether an answer is a refusal: 409 from a webhook, 403 from a policy.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code == http.StatusConflict || code == http.StatusForbidden
}

// problem records behaviour that makes figures misleading in report.Problems. The measurement
// continues.
func (r *rig) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.log("PROBLEM: %s", text)
	r.report.Problems = append(r.report.Problems, text)
}

// metered calls do and reports its cost.
func (r *rig) metered(
	ctx context.Context, scenario string, usages int, do func(context.Context) (operations int, err error),
) error {
	before, err := r.meter.read(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	operations, err := do(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	after, err := r.meter.read(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	return r.charge(scenario, usages, operations, before, after)
}

func (r *rig) charge(scenario string, usages, operations int, before, after reading) error {
	c, err := r.meter.since(before, after)
	if err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	c.Scenario, c.Usages, c.Operations = scenario, usages, operations
	r.report.charge(c)
	return nil
}

// awaitServed waits until discovery has the kind of Usage, because an installation may still be in
// progress. awaitServed returns whether the kind is namespaced.
func awaitServed(
	ctx context.Context, client discovery.DiscoveryInterface, o *options,
) (isNamespaced bool, err error) {
	groupVersion := o.usage.gvr().GroupVersion().String()
	err = retry(ctx, o.timeout, func(context.Context) error {
		list, err := client.ServerResourcesForGroupVersion(groupVersion)
		if err != nil {
			return err
		}
		for _, resource := range list.APIResources {
			if resource.Name == o.usage.resource {
				isNamespaced = resource.Namespaced
				return nil
			}
		}
		return fmt.Errorf("%s has no %s", groupVersion, o.usage.resource)
	})
	if err != nil {
		return false, fmt.Errorf("wait for %s to be served: %w", o.usage.gvr(), err)
	}
	return isNamespaced, nil
}

// retryInterval is the pause of retry. No measured time contains a retryInterval.
const retryInterval = 250 * time.Millisecond

// retry calls try until try succeeds, and returns the last error after patience.
func retry(ctx context.Context, patience time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(retryInterval)
	defer ticker.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		}
	}
}
