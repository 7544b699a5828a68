package kit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Connector returns clients for the credentials in Secrets.
type Connector struct {
	Clouds *openstack.Clouds
	// Live reads single Secrets: there is no cache of their data.
	Live client.Client

	mu     sync.Mutex
	parsed map[credentials]parsed
	reads  map[*read]struct{} // reads in progress
}

// credentials identify one cloud of a clouds.yaml in a Secret.
type credentials struct {
	secret types.NamespacedName
	cloud  string
}

// parsed is the cloud in one resourceVersion of a Secret.
type parsed struct {
	version string
	cloud   *openstack.Cloud
}

// read is one read of a Secret in progress.
type read struct {
	secret types.NamespacedName
	// void says that the Secret was deleted meanwhile.
	void bool
}

// Service returns the client of a service in a Scope.
type Service func(*openstack.Scope, context.Context) (*gophercloud.ServiceClient, error)

// Connection is a client with its [openstack.Scope].
type Connection struct {
	Client *gophercloud.ServiceClient
	Scope  *openstack.Scope
	// Key is equal for connections that see the same resources.
	Key string
	// Place is the project (or region, or cloud) that created resources belong to. Place is
	// empty for a RouterInterface.
	Place string
}

// Access returns the [external.Access] for an actuator with this connection.
func Access[K external.Object](c Connection, a external.Actuator[K, *Resource]) external.Access[K, *Resource] {
	return external.Access[K, *Resource]{
		Actuator: a, Scope: c.Key, Place: c.Place, Cloud: openstack.CloudOf(c.Scope.Cloud()),
	}
}

// Connect returns the client of a service, with credentials from the Secret with this
// resourceVersion.
func (c *Connector) Connect(
	ctx context.Context, namespace, version string, ref openstackv1alpha1.CloudCredentialsReference, service Service,
) (Connection, error) {
	cloud, err := c.cloud(ctx, namespace, version, ref)
	if err != nil {
		return Connection{}, err
	}
	scope, err := c.Clouds.Scope(ctx, cloud)
	if version != "" {
		c.dropStaleLogin(credentialsOf(namespace, ref), cloud)
	}
	if err != nil {
		return Connection{}, attribute(Explain(err), ref)
	}
	client, err := service(scope, ctx)
	if err != nil {
		return Connection{}, Explain(err)
	}
	return Connection{client, scope, cloud.Key(), scope.Project()}, nil
}

// cloud reads the Secret, once per metadata.resourceVersion. With an empty version, cloud reads
// the Secret each time.
func (c *Connector) cloud(
	ctx context.Context, namespace, version string, ref openstackv1alpha1.CloudCredentialsReference,
) (*openstack.Cloud, error) {
	key := credentialsOf(namespace, ref)
	known, r := c.begin(key, version)
	if known != nil {
		return known, nil
	}
	defer c.end(r)
	var secret corev1.Secret
	if err := c.Live.Get(ctx, key.secret, &secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", ref.SecretName, err)
	}
	cloud, err := openstack.ParseCloud(secret.Data, ref.CloudName)
	if err != nil { // A new version of the Secret requeues the object at once.
		return nil, &external.Error{Class: external.Invalid, Message: fmt.Sprintf("Secret %s: %s", ref.SecretName, err)}
	}
	if version != "" { // Without a version, the result must not replace a known version.
		c.recordParsed(r, key, parsed{version, cloud})
	}
	return cloud, nil
}

func credentialsOf(namespace string, ref openstackv1alpha1.CloudCredentialsReference) credentials {
	return credentials{types.NamespacedName{Namespace: namespace, Name: ref.SecretName}, ref.CloudName}
}

// begin returns the parsed cloud of a version, or begins a read of the Secret.
func (c *Connector) begin(key credentials, version string) (*openstack.Cloud, *read) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.parsed[key]; known.cloud != nil && version != "" && known.version == version {
		return known.cloud, nil
	}
	if c.reads == nil {
		c.parsed, c.reads = map[credentials]parsed{}, map[*read]struct{}{}
	}
	r := &read{secret: key.secret}
	c.reads[r] = struct{}{}
	return nil, r
}

func (c *Connector) end(r *read) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.reads, r)
}

// recordParsed keeps the parsed cloud, unless the Secret was deleted meanwhile, or another
// goroutine has read a later version.
func (c *Connector) recordParsed(r *read, key credentials, found parsed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.parsed[key]
	if r.void || object.Older(found.version, before.version) {
		return
	}
	if before.cloud != nil && before.cloud.Key() != found.cloud.Key() {
		c.Clouds.Forget(before.cloud)
	}
	c.parsed[key] = found
}

// dropStaleLogin drops the login of credentials that were replaced before the login ended: no
// later call of [Connector.Forget] would find this login. Callers that have the Scope already keep using
// it.
func (c *Connector) dropStaleLogin(key credentials, cloud *openstack.Cloud) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.parsed[key].cloud; known == nil || known.Key() != cloud.Key() {
		c.Clouds.Forget(cloud)
	}
}

// Forget drops the parsed clouds of a Secret and their logins: no password stays in memory
// after the Secret was deleted. If another Secret has the same credentials, the next [Connector.Connect]
// logs in again.
func (c *Connector) Forget(secret types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.reads {
		r.void = r.void || r.secret == secret
	}
	for key, known := range c.parsed {
		if key.secret == secret {
			c.Clouds.Forget(known.cloud)
			delete(c.parsed, key)
		}
	}
}

// For returns the client of a service for an object with spec.cloudCredentialsRef.
func For[K Credentialed](
	ctx context.Context, c *Connector, in external.Input[K], service Service,
) (Connection, error) {
	ref := in.Object.GetCommonSpec().CloudCredentialsRef
	version := in.Refs.Version(SecretKind.GroupKind(), ref.SecretName)
	return c.Connect(ctx, in.Object.GetNamespace(), version, ref, service)
}

// attribute adds the Secret and the cloudName to an error: the reader of the condition must
// know which Secret to correct.
func attribute(err error, ref openstackv1alpha1.CloudCredentialsReference) error {
	known, ok := errors.AsType[*external.Error](err)
	if !ok {
		return err
	}
	told := *known
	told.Message = fmt.Sprintf("Secret %s, cloud %q: %s", ref.SecretName, ref.CloudName, known.Message)
	return &told
}

// site returns the name of the cloud or region of an object's cloudCredentialsRef.
func site[K Credentialed](ctx context.Context, c *Connector, in external.Input[K]) (string, error) {
	ref := in.Object.GetCommonSpec().CloudCredentialsRef
	version := in.Refs.Version(SecretKind.GroupKind(), ref.SecretName)
	cloud, err := c.cloud(ctx, in.Object.GetNamespace(), version, ref)
	if err != nil {
		return "", err
	}
	return cloud.Place(), nil
}

// Explain converts an error of gophercloud to an [external.Error].
func Explain(err error) error {
	if err == nil {
		return nil
	}
	failure := openstack.Classify(err)
	e := &external.Error{
		After: failure.After, Message: failure.Message, Late: failure.Late, Outage: openstack.IsOutage(err),
	}
	if much, ok := errors.AsType[*openstack.TooMuchError](err); ok {
		e.TooMuch = much.Always
	}
	switch failure.Class {
	case openstack.NotFound:
		e.Class = external.Missing
	case openstack.Invalid, openstack.Exists, openstack.Forbidden:
		e.Class = external.Invalid
	case openstack.Busy:
		e.Class = external.Busy
	case openstack.Unauthorized:
		e.Class = external.Refused
	case openstack.Retryable:
		if failure.Status != 0 && failure.Status < 500 { // Such as 429.
			e.Class = external.Refused
		}
	}
	return e
}

// Retried is [Explain] for a request that may succeed later even if the answer was that the
// resource exists: another client has just created it.
func Retried(err error) error {
	explained := Explain(err)
	if known, ok := errors.AsType[*external.Error](explained); ok &&
		openstack.Classify(err).Class == openstack.Exists {
		known.Class = external.Refused
	}
	return explained
}

// Undone converts an error that occurred before any request for a creation was sent to an
// [external.Error] that says so (Refused).
func Undone(err error) error {
	known, ok := errors.AsType[*external.Error](err)
	if !ok {
		return &external.Error{Class: external.Refused, Message: err.Error()}
	}
	if known.Class == external.Transient {
		known.Class = external.Refused
	}
	return known
}

// Call sends a request by gophercloud. The error is an error of gophercloud, for [Explain].
func Call(
	ctx context.Context, client *gophercloud.ServiceClient, method, address string, body, answer any,
) error {
	response, err := client.Request(ctx, method, address, &gophercloud.RequestOpts{
		JSONBody: body, JSONResponse: answer, OkCodes: []int{
			http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent,
		},
	})
	if err != nil {
		return err
	}
	return response.Body.Close()
}
