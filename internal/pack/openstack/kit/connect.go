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

// Connector leads from credentials to clients.
type Connector struct {
	Clouds *openstack.Clouds
	// Live reads the one Secret that is named: there is no cache of Secrets.
	Live client.Client

	mu     sync.Mutex
	parsed map[credentials]parsed
	reads  map[*read]struct{} // under way
}

// credentials are an entry of a Secret.
type credentials struct {
	secret types.NamespacedName
	cloud  string
}

// parsed is an entry as it was in a version of its Secret.
type parsed struct {
	version string
	cloud   *openstack.Cloud
}

// read is one of a Secret.
type read struct {
	secret types.NamespacedName
	// void says that the Secret has gone meanwhile.
	void bool
}

// Service chooses one of a scope's clients.
type Service func(*openstack.Scope, context.Context) (*gophercloud.ServiceClient, error)

// Connection is a client with the scope that it belongs to.
type Connection struct {
	Client *gophercloud.ServiceClient
	Scope  *openstack.Scope
	// Key is the same for all that see the same.
	Key string
	// Place is where what is made with it belongs to; empty where nobody may ask.
	Place string
}

// Access returns what the engine is told of an actuator that uses the connection.
func Access[K external.Object](c Connection, a external.Actuator[K, *Resource]) external.Access[K, *Resource] {
	return external.Access[K, *Resource]{
		Actuator: a, Scope: c.Key, Place: c.Place, Cloud: openstack.CloudOf(c.Scope.Cloud()),
	}
}

// Connect returns the client of a service with credentials from a Secret of which
// the version is known.
func (c *Connector) Connect(
	ctx context.Context, namespace, version string, ref openstackv1alpha1.CloudCredentialsReference, service Service,
) (Connection, error) {
	cloud, err := c.cloud(ctx, namespace, version, ref)
	if err != nil {
		return Connection{}, err
	}
	scope, err := c.Clouds.Scope(ctx, cloud)
	if version != "" {
		c.settle(credentialsOf(namespace, ref), cloud)
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

// cloud reads the Secret, once for each of its versions if they are known.
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
	if err != nil { // The Secret's next version is tried at once.
		return nil, &external.Error{Class: external.Invalid, Message: fmt.Sprintf("Secret %s: %s", ref.SecretName, err)}
	}
	if version != "" { // Who doesn't know it must not make others read again.
		c.learn(r, key, parsed{version, cloud})
	}
	return cloud, nil
}

func credentialsOf(namespace string, ref openstackv1alpha1.CloudCredentialsReference) credentials {
	return credentials{types.NamespacedName{Namespace: namespace, Name: ref.SecretName}, ref.CloudName}
}

// begin returns what is known of a version, or begins to read it.
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

// learn keeps what was read, unless it was overtaken: by the end of the Secret, or by who
// read a later version of it.
func (c *Connector) learn(r *read, key credentials, found parsed) {
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

// settle drops a login whose credentials were overtaken before it ended: nobody else
// would. Who has it goes on with it.
func (c *Connector) settle(key credentials, cloud *openstack.Cloud) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.parsed[key].cloud; known == nil || known.Key() != cloud.Key() {
		c.Clouds.Forget(cloud)
	}
}

// Forget drops what was read of a Secret, and the logins with it: passwords don't stay in
// memory when they are gone from the cluster. If another Secret has them too, they are
// read and used anew.
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

// For returns the client of a service for an object that names its credentials.
func For[K Credentialed](
	ctx context.Context, c *Connector, in external.Input[K], service Service,
) (Connection, error) {
	ref := in.Object.GetCommonSpec().CloudCredentialsRef
	version := in.Refs.Version(SecretKind.GroupKind(), ref.SecretName)
	return c.Connect(ctx, in.Object.GetNamespace(), version, ref, service)
}

// attribute says in an error which credentials were used: whoever reads the condition has to
// mend the Secret.
func attribute(err error, ref openstackv1alpha1.CloudCredentialsReference) error {
	known, ok := errors.AsType[*external.Error](err)
	if !ok {
		return err
	}
	told := *known
	told.Message = fmt.Sprintf("Secret %s, cloud %q: %s", ref.SecretName, ref.CloudName, known.Message)
	return &told
}

// Site names the cloud that an object's credentials lead to, or its region.
func Site[K Credentialed](ctx context.Context, c *Connector, in external.Input[K]) (string, error) {
	ref := in.Object.GetCommonSpec().CloudCredentialsRef
	version := in.Refs.Version(SecretKind.GroupKind(), ref.SecretName)
	cloud, err := c.cloud(ctx, in.Object.GetNamespace(), version, ref)
	if err != nil {
		return "", err
	}
	return cloud.Place(), nil
}

// Explain turns an error of a call into what the engine understands.
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

// Retried is Explain for requests that may succeed later even if the answer was
// that something exists: somebody else has just made it.
func Retried(err error) error {
	explained := Explain(err)
	if known, ok := errors.AsType[*external.Error](explained); ok &&
		openstack.Classify(err).Class == openstack.Exists {
		known.Class = external.Refused
	}
	return explained
}

// Undone turns an error that came before anything was asked to be made into one that
// says so.
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

// Call makes a request. Its error is that of gophercloud, for Explain.
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
