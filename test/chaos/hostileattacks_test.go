package chaos_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

// oamTenantKinds are the kinds of the pack oam among tenantKinds.
var oamTenantKinds = []tenantKind{
	{oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindComponent), []string{
		"{workload: {apiVersion: v1, kind: ConfigMap, data: {a: b}}}",
		"{workload: {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {a: c}}}",
		"{workload: {apiVersion: core.oam.dev/v1alpha2, kind: ContainerizedWorkload, " +
			"spec: {containers: [{name: a, image: none}]}}}",
		"{workload: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}, " +
			"parameters: [{name: port, fieldPaths: ['spec.ports[0].port']}]}",
		"{workload: {apiVersion: openstack.k-orc.cloud/v1alpha1, kind: Network, spec: {resource: {}}}}",
		"{workload: {apiVersion: v1, kind: ConfigMap, metadata: {name: used-0, namespace: VICTIM}, data: {a: d}}}",
	}},
	{oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindApplicationConfiguration), []string{
		"{components: [{componentName: NAME}]}",
		"{components: [{componentName: NAME, parameterValues: [{name: port, value: 81}]}]}",
		"{components: [{componentName: NAME, traits: [{trait: {apiVersion: core.oam.dev/v1alpha2, " +
			"kind: ManualScalerTrait, spec: {replicaCount: 2}}}]}]}",
		"{components: [{componentName: NAME, dataOutputs: [{name: a, fieldPath: data.a}]}, " +
			"{componentName: o-0, dataInputs: [{valueFrom: {dataOutputName: a}, toFieldPaths: [data.b]}]}]}",
	}},
}

const (
	// largeNames is how many large objects of each kind the tenant has. IotConnectors and ApplicationConfigurations
	// make many objects, so that there are few.
	largeNames = 16
	fewNames   = 2
	// reviewsAtOnce are sent at the same time, each with an object of nearly reviewSize.
	reviewsAtOnce = 8
	reviewSize    = 2 << 20
)

// large creates or changes an object of 100 kB to 1 MB, or sends many large reviews at once. Most are refused.
func (m *tenant) large(ctx context.Context) error {
	if m.random.IntN(4) == 0 {
		m.counts["large reviews"] += reviewsAtOnce
		return m.manyReviews(ctx)
	}
	size := 100<<10 + m.random.IntN(150<<10)
	if m.random.IntN(2) == 0 {
		size *= 4
	}
	u := m.largeObject(size)
	err := m.c.Create(ctx, u)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": u.Object["spec"]})
	if err != nil {
		return err
	}
	return m.c.Patch(ctx, u, client.RawPatch(types.MergePatchType, patch))
}

// largeObject returns an object of about a size, if its schema allows the size.
func (m *tenant) largeObject(size int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetNamespace(m.ns)
	letter := string(rune('a' + m.random.IntN(26))) // Another content, so that a change is a change.
	few := fmt.Sprintf("l-%d", m.random.IntN(fewNames))
	u.SetName(fmt.Sprintf("l-%d", m.random.IntN(largeNames)))
	switch m.random.IntN(4) {
	case 0:
		u.SetGroupVersionKind(oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindComponent))
		u.Object["spec"] = map[string]any{"workload": largeConfigMap(letter, size)}
	case 1:
		u.SetName(few)
		u.SetGroupVersionKind(oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindApplicationConfiguration))
		u.Object["spec"] = largeApplication(m.name(), letter, 8, size/8)
	case 2:
		u.SetName(few)
		u.SetGroupVersionKind(iotv1alpha1.GroupVersion.WithKind("IotConnector"))
		u.Object["spec"] = largeConnector(letter, size)
	default:
		u.SetGroupVersionKind(openstackv1alpha1.GroupVersion.WithKind("Network"))
		tags := make([]any, 64)
		for i := range tags {
			tags[i] = fmt.Sprintf("%02d%s", i, strings.Repeat(letter, 253))
		}
		u.Object["spec"] = m.spec(u, "{resource: {}}")
		u.Object["spec"].(map[string]any)["resource"] = map[string]any{
			"description": strings.Repeat(letter, 255), "tags": tags,
		}
		u.SetAnnotations(map[string]string{"large": strings.Repeat(letter, min(size, 255<<10))})
	}
	return u
}

func largeConfigMap(letter string, size int) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": strings.Repeat(letter, size)},
	}
}

// largeApplication returns the spec of an ApplicationConfiguration with n ConfigMaps of a size as traits.
func largeApplication(component, letter string, n, size int) map[string]any {
	traits := make([]any, n)
	for i := range traits {
		traits[i] = map[string]any{"trait": largeConfigMap(letter, size)}
	}
	return map[string]any{"components": []any{map[string]any{"componentName": component, "traits": traits}}}
}

// largeConnector returns the spec of an IotConnector with the most Deployments that there may be.
func largeConnector(letter string, size int) map[string]any {
	deployments := make([]any, 64)
	for i := range deployments {
		container := map[string]any{
			"type": "Normalization", "image": "none",
			"environmentVariables": []any{map[string]any{"name": "A", "value": strings.Repeat(letter, size/len(deployments))}},
		}
		deployments[i] = map[string]any{
			"name": fmt.Sprintf("large-%d", i), "replicas": int64(0), "containers": []any{container},
		}
	}
	return map[string]any{"version": int64(1), "deployments": deployments}
}

// manyReviews sends dry runs of large ApplicationConfigurations and Components at the same time.
func (m *tenant) manyReviews(ctx context.Context) error {
	answers := make([]error, reviewsAtOnce)
	var all sync.WaitGroup
	for i := range answers {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetNamespace(m.ns)
		u.SetName(fmt.Sprintf("review-%d", i))
		if m.random.IntN(2) == 0 {
			u.SetGroupVersionKind(oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindApplicationConfiguration))
			u.Object["spec"] = largeApplication("a", "x", 60, reviewSize/60)
		} else {
			u.SetGroupVersionKind(oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindComponent))
			u.Object["spec"] = map[string]any{"workload": largeConfigMap("x", reviewSize)}
		}
		all.Go(func() { answers[i] = m.c.Create(ctx, u, client.DryRunAll) })
	}
	all.Wait()
	return errors.Join(answers...)
}

// toggle has Secrets join and leave the selections of his Usages, several times.
func (m *tenant) toggle(ctx context.Context) error {
	n := 2 + m.random.IntN(objectNames-1)
	values := []string{"c", "b", "c", "b", "c", "b"}
	errs := make([]error, 0, len(values)*n)
	for _, value := range values {
		body := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"a":%q}}}`, value))
		for i := range n {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.ns, Name: fmt.Sprintf("o-%d", i)}}
			errs = append(errs, client.IgnoreNotFound(m.c.Patch(ctx, secret, body)))
		}
	}
	return errors.Join(errs...)
}

const (
	// slowAtOnce are the connections that one act opens.
	slowAtOnce = 100
	// slowMost is how many connections the tenant keeps open.
	slowMost = 400
)

// webhookURL returns the URL by which the API server calls the webhook for Usages, with the secret path: the
// administrator reads the URL and leaks it.
func (m *tenant) webhookURL(ctx context.Context) (*url.URL, error) {
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := m.admin.Get(ctx, client.ObjectKey{Name: "crossplane-no-usages"}, &c); err != nil {
		return nil, err
	}
	return url.Parse(*c.Webhooks[0].ClientConfig.URL)
}

// slow opens connections to the webhooks that never end what they began.
func (m *tenant) slow(ctx context.Context) error {
	webhook, err := m.webhookURL(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range slowAtOnce {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", webhook.Host)
		if err != nil {
			return err
		}
		m.held = append(m.held, c)
		errs = append(errs, begin(ctx, c, i%4))
	}
	for len(m.held) > slowMost {
		_ = m.held[0].Close() // The operator may have closed the connection.
		m.held = m.held[1:]
	}
	return errors.Join(errs...)
}

// begin begins a handshake, a header or a body on a connection, or nothing.
func begin(ctx context.Context, c net.Conn, what int) error {
	texts := []string{"", "\x16\x03\x01\x02\x00\x01", "POST / HTTP/1.1\r\nHost: a\r\n", ""}
	texts[3] = texts[2] + "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
	if what < 2 {
		_, err := io.WriteString(c, texts[what])
		return err
	}
	encrypted := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // As an intruder would.
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return err
	}
	_, err := io.WriteString(encrypted, texts[what])
	return err
}

// hangUp closes all slow connections.
func (m *tenant) hangUp() {
	for _, c := range m.held {
		_ = c.Close()
	}
	m.held = nil
}
