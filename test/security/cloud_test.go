package security_test

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// cloudGroup is the API of the openstack pack.
var cloudGroup = schema.GroupVersion{Group: "openstack.k-orc.cloud", Version: "v1alpha1"}

// publicKey is one of which nobody has the other part.
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDpT/cMsQyZrFfGcWcTzqvVqQy2rXU5tXZxk8mJmXv3z"

// resources are specs of resources, one of each kind.
var resources = map[string]string{
	"Domain": "{}", "Project": "{}", "Group": "{}", "Role": "{}", "User": "{}", "Service": "{type: some}",
	"Endpoint":              "{interface: public, url: 'http://example.com', serviceRef: it}",
	"RoleAssignment":        "{roleRef: it, userRef: it, projectRef: it}",
	"ApplicationCredential": "{userRef: admin, secretRef: password}",
	"Network":               "{}", "AddressScope": "{ipVersion: 4}", "SecurityGroup": "{}", "Router": "{}",
	"Subnet":     "{networkRef: it, routerRef: it, ipVersion: 4, cidr: 10.0.0.0/24}", // Makes a RouterInterface.
	"Port":       "{networkRef: it, addresses: [{subnetRef: it}]}",
	"Trunk":      "{portRef: it}",
	"FloatingIP": "{floatingNetworkRef: public}",
	"Flavor":     "{ram: 64, vcpus: 1, disk: 1}", "KeyPair": "{publicKey: " + publicKey + "}",
	"ServerGroup": "{policy: affinity}", "VolumeType": "{}", "Volume": "{size: 1}",
	"Server":       "{imageRef: cirros, flavorRef: it, ports: [{portRef: second}]}",
	"ShareNetwork": "{}",
}

// manifest is that of an object of the pack.
const manifest = `
apiVersion: %s
kind: %s
metadata: {name: %s}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin}, %s}
`

// clouds takes one object of each kind of the openstack pack through its life.
func (l land) clouds() {
	l.T.Helper()
	cloud := operator.Cloud(l.T, emulator.Options{})
	secret, password := l.secret("cloud"), l.secret("password")
	secret.Data = map[string][]byte{"clouds.yaml": []byte(cloud.CloudsYAML())}
	password.Data = map[string][]byte{"value": []byte("pass")}
	l.Create(secret, password)
	var manifests []string
	one := func(kind, name, spec string) {
		manifests = append(manifests, fmt.Sprintf(manifest, cloudGroup, kind, name, spec))
	}
	for _, kind := range l.kindsOf(cloudGroup) {
		spec, known := resources[kind]
		switch {
		case known:
			one(kind, "it", "resource: "+spec)
		case kind != "RouterInterface" && kind != "Image": // The Subnet's, and one that is there.
			l.T.Errorf("%s has no object in this test", kind)
		}
	}
	one("Network", "public", "managementPolicy: unmanaged, import: {filter: {name: public}}")
	one("Image", "cirros", "managementPolicy: unmanaged, import: {filter: {name: cirros}}")
	one("User", "admin", "managementPolicy: unmanaged, import: {filter: {name: admin}}") // Makes its own credential.
	one("Port", "second", "resource: {networkRef: it}")
	objects := testenv.Apply(l.T, strings.Join(manifests, "---\n"), testenv.In(l.NS))
	testenv.Eventually(l.T, func() error { return l.each(objects, isAvailable) })
	for _, obj := range objects {
		l.Delete(obj)
	}
	testenv.Eventually(l.T, func() error {
		return l.each(objects, func(obj *unstructured.Unstructured) error {
			if obj != nil {
				return fmt.Errorf("%s %s is there: %v", obj.GetKind(), obj.GetName(), obj.Object["status"])
			}
			return nil
		})
	})
}

// each looks at objects as they are now; nil is one that is gone.
func (l land) each(objects []*unstructured.Unstructured, look func(*unstructured.Unstructured) error) error {
	for _, obj := range objects {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(obj.GroupVersionKind())
		err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(obj), live)
		if apierrors.IsNotFound(err) {
			live, err = nil, nil
		}
		if err != nil {
			return err
		}
		if err := look(live); err != nil {
			return err
		}
	}
	return nil
}

// isAvailable returns why an object of the openstack pack is not Available.
func isAvailable(obj *unstructured.Unstructured) error {
	if obj == nil {
		return errors.New("an object is gone")
	}
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Available" && c["status"] == "True" {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%s %s is not Available: %v", obj.GetKind(), obj.GetName(), conditions))
}

// kindsOf returns the kinds of an API.
func (l land) kindsOf(gv schema.GroupVersion) []string {
	l.T.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(testenv.Config(l.T))
	if err != nil {
		l.T.Fatal(err)
	}
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	if err != nil {
		l.T.Fatal(err)
	}
	var kinds []string
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}
