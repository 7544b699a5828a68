package kit

import (
	"context"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// oneSecret is a client that reads a Secret.
type oneSecret struct {
	client.Client

	clouds string
	reads  int
	// during is called once, when the Secret was read and the answer is on its way.
	during func()
}

// Get implements client.Reader.
func (s *oneSecret) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.(*corev1.Secret).Data = map[string][]byte{openstack.CloudsKey: []byte(s.clouds)}
	s.reads++
	if during := s.during; during != nil {
		s.during = nil
		during()
	}
	return nil
}

// connecting is a Connector on a cloud that counts logins.
type connecting struct {
	*Connector

	t      *testing.T
	secret *oneSecret
	cloud  *emulator.Server
	// old and current are the contents of the Secret, one after the other.
	old, current string
}

func newConnecting(t *testing.T) *connecting {
	t.Helper()
	cloud, err := emulator.Start(emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	old := cloud.CloudsYAML()
	clouds, secret := openstack.New(openstack.Options{Open: openstack.Loopback}), &oneSecret{clouds: old}
	t.Cleanup(clouds.Close)
	return &connecting{
		Connector: &Connector{Clouds: clouds, Live: secret}, t: t, secret: secret, cloud: cloud,
		old: old, current: strings.ReplaceAll(old, "demo", "alt_demo"),
	}
}

// connect logs in with a version of the Secret.
func (c *connecting) connect(version string) {
	c.t.Helper()
	ref := openstackv1alpha1.CloudCredentialsReference{SecretName: "it", CloudName: "openstack"}
	nothing := func(*openstack.Scope, context.Context) (*gophercloud.ServiceClient, error) { return nil, nil }
	if _, err := c.Connect(c.t.Context(), "ns", version, ref, nothing); err != nil {
		c.t.Error(err)
	}
}

// login logs in without a Secret.
func (c *connecting) login(text string) {
	c.t.Helper()
	cloud, err := openstack.ParseCloud(map[string][]byte{openstack.CloudsKey: []byte(text)}, "openstack")
	if err == nil {
		_, err = c.Clouds.Scope(c.t.Context(), cloud)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// expect compares the number of reads of the Secret, and of logins.
func (c *connecting) expect(reason string, reads, logins int) {
	c.t.Helper()
	got := c.cloud.Calls()[emulator.Call{Service: "identity", Method: "POST", Resource: "auth/tokens"}]
	if c.secret.reads != reads || got != logins {
		c.t.Errorf("%s: %d reads, want %d; %d logins, want %d", reason, c.secret.reads, reads, got, logins)
	}
}

// TestReadLate: a goroutine that read a Secret before its change, and returns later than a
// goroutine that read it afterwards, does not restore the old content.
func TestReadLate(t *testing.T) {
	c := newConnecting(t)
	c.secret.during = func() {
		c.secret.clouds = c.current
		c.connect("6")
	}
	c.connect("5")
	c.expect("both have read", 2, 2)
	c.connect("6")
	c.login(c.current)
	c.expect("what it has now is known", 2, 2)
	c.login(c.old)
	c.expect("what it had is not", 2, 3)
}

// TestReadWhileForgotten: passwords of a deleted Secret are not kept by a goroutine that was
// about to use them.
func TestReadWhileForgotten(t *testing.T) {
	c := newConnecting(t)
	c.secret.during = func() { c.Forget(types.NamespacedName{Namespace: "ns", Name: "it"}) }
	c.connect("5")
	c.expect("it has read", 1, 1)
	if n := len(c.parsed); n > 0 {
		t.Errorf("%d entries are kept", n)
	}
	c.login(c.old)
	c.expect("the login is not kept", 1, 2)
	c.secret.during = func() { c.Forget(types.NamespacedName{Namespace: "other", Name: "it"}) }
	c.connect("7")
	c.connect("7")
	c.expect("others' Secrets do not count", 2, 2)
}
