package azure

import (
	"context"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/secret"
)

// connection is an azure.Client with the subscription of its credentials.
type connection struct {
	client       *azure.Client
	subscription string
	version      string // of the Secret
}

// connector returns the connections of objects.
type connector struct {
	live    client.Client
	options Options
	observe func(azure.Call)
	trace   func(http.RoundTripper) http.RoundTripper
	// own is the connection of objects without spec.credentialsRef; nil if the pack refuses such
	// objects.
	own *connection
	// secrets reads the Secrets in sensitive fields.
	secrets *secret.Reader

	known locked.Map[types.NamespacedName, *connection] // by Secret
}

// newConnector returns a connector. The azure.Client calls observe after each request to ARM; trace
// wraps the http.RoundTripper.
func newConnector(
	live client.Client, options Options, observe func(azure.Call), trace func(http.RoundTripper) http.RoundTripper,
) (*connector, error) {
	c := &connector{live: live, options: options, observe: observe, trace: trace, secrets: secret.NewReader(live)}
	if options.Credential == "" || options.Credential == SecretCredential {
		return c, nil
	}
	credential, err := azure.NewCredential(options.Credential, azure.Login{})
	if err != nil {
		return nil, fmt.Errorf("make the operator's credential of Azure: %w", err)
	}
	client, err := c.newClient(credential)
	if err != nil {
		return nil, err
	}
	c.own = &connection{client: client, subscription: options.Subscription}
	return c, nil
}

func (c *connector) newClient(credential azcore.TokenCredential) (*azure.Client, error) {
	return azure.NewClient(azure.Options{
		Endpoint: c.options.Endpoint, Credential: credential, Observe: c.observe, Trace: c.trace,
	})
}

// secretOf returns spec.credentialsRef.secretName of an object, or "".
func secretOf(obj *external.Unstructured) string {
	name, _, _ := unstructured.NestedString(obj.Object, "spec", "credentialsRef", "secretName")
	return name
}

// connect returns the connection of an object. connect reads the Secret once per resourceVersion.
func (c *connector) connect(ctx context.Context, in Input) (*connection, error) {
	name := secretOf(in.Object)
	if name == "" {
		if c.own == nil {
			return nil, &external.Error{Class: external.Invalid, Message: "spec.credentialsRef is missing: the operator " +
				"has no credentials of its own for Azure (--azure-credential)"}
		}
		return c.own, nil
	}
	key := types.NamespacedName{Namespace: in.Object.GetNamespace(), Name: name}
	version := in.Refs.Version(secretKind.GroupKind(), name)
	if known := c.known.Get(key); known != nil && known.version == version && version != "" {
		return known, nil
	}
	var credentials corev1.Secret
	if err := c.live.Get(ctx, key, &credentials); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	made, err := c.of(credentials.Data)
	if err != nil {
		return nil, &external.Error{Class: external.Invalid, Message: fmt.Sprintf("Secret %s: %s", name, err)}
	}
	made.version = version
	c.known.Store(key, made)
	return made, nil
}

// of returns the connection of a Secret's data. With NoCredential the Secret only names the
// subscription: the emulator needs no credentials, and must not receive a client secret.
func (c *connector) of(data map[string][]byte) (*connection, error) {
	principal, err := azure.ParsePrincipal(data)
	if err != nil {
		return nil, err
	}
	if c.options.Credential == azure.NoCredential {
		return &connection{client: c.own.client, subscription: principal.Subscription}, nil
	}
	credential, err := principal.Credential(azure.Login{})
	if err != nil {
		return nil, err
	}
	client, err := c.newClient(credential)
	if err != nil {
		return nil, err
	}
	return &connection{client: client, subscription: principal.Subscription}, nil
}

// forget drops the connection of a deleted Secret, so that no password stays in memory.
func (c *connector) forget(secret types.NamespacedName) {
	c.known.Delete(secret)
	c.secrets.Forget(secret)
}

// subscription returns the subscription of an object's credentials, or "" before the first connect
// with these credentials.
func (c *connector) subscription(in Input) string {
	known := c.own
	if name := secretOf(in.Object); name != "" {
		known = c.known.Get(types.NamespacedName{Namespace: in.Object.GetNamespace(), Name: name})
	}
	if known == nil {
		return ""
	}
	return known.subscription
}
