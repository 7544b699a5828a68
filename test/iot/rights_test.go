package iot_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func optionsFrom(version string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: version}
}

func may(verb, group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{verb, "get", "update"}}
}

// testRights: a user without the right to create Deployments gets no Deployment by an
// IotConnector.
func testRights(t *testing.T) {
	w := newWorld(t)
	group := iotv1alpha1.GroupVersion.Group
	all := []string{"iotconnectors", "iotconnectorreleases", "iotconnectors/status"}
	poor := w.User("poor", may("create", group, all...))
	rich := w.User("rich", may("create", group, all...), may("create", "apps", "deployments"))
	identified := w.User("identified", may("create", group, all...), may("create", "apps", "deployments"),
		may("create", "", "serviceaccounts"))
	c := w.version1("c", entry("a", "Normalization"))

	err := poor.Create(t.Context(), c.DeepCopy())
	refused(t, err, "may not create deployments in namespace "+w.NS)
	if !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want 403", err)
	}
	// Its Pods use a ServiceAccount, which is created for the connector.
	refused(t, rich.Create(t.Context(), c.DeepCopy()), "may not create serviceaccounts in namespace "+w.NS)
	if err := identified.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.ready(c)
	image := func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Containers[0].Image = "evil" }
	refused(t, try(w, poor, c, image), "may not create deployments")
	// A change that does not concern Deployments needs no further right.
	if err := try(w, poor, c, func(c *iotv1alpha1.IotConnector) { c.Labels["x"] = "y" }); err != nil {
		t.Error(err)
	}
	// An identity is a right of its own, too.
	give := func(c *iotv1alpha1.IotConnector) {
		c.Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "aaaa", ResourceID: "bbbb"}
	}
	take := func(c *iotv1alpha1.IotConnector) { c.Spec.ServiceIdentity = nil }
	refused(t, try(w, rich, c, give), "may not create serviceaccounts in namespace "+w.NS)
	for _, err := range []error{
		try(w, identified, c, give), try(w, rich, c, func(c *iotv1alpha1.IotConnector) {
			c.Spec.Deployments[0].Containers[0].Image = "other"
		}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	refused(t, try(w, rich, c, take), "may not create serviceaccounts in namespace "+w.NS)
	if err := try(w, identified, c, take); err != nil {
		t.Error(err)
	}
	release := &iotv1alpha1.IotConnectorRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "r"}}
	release.Spec.Version, release.Spec.Images = 1, map[string]string{"Normalization": "evil"}
	refused(t, poor.Create(t.Context(), release.DeepCopy()), "may not create deployments")
	// A release changes connectors, which takes a right of its own.
	create := func(group, resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"create"}}
	}
	half := w.User("half", create(group, "iotconnectorreleases"), create("apps", "deployments"))
	refused(t, half.Create(t.Context(), release.DeepCopy()), "may not update iotconnectors")

	// Even a user with all rights can't write the status, because the status decides which
	// objects are deleted.
	forgery := client.RawPatch(types.MergePatchType, []byte(`{"status": {"inventory": null}}`))
	refused(t, w.C.Status().Patch(t.Context(), c, forgery), "only Kinship may write it")
}

// testEverything: no release upgrades everything by a slip.
func testEverything(t *testing.T) {
	w := newWorld(t)
	r := w.release("all", 1)
	r.Spec.Selector = &metav1.LabelSelector{}
	refused(t, w.C.Create(t.Context(), r), "spec.selector is empty and would match every IotConnector")
}

// testRefused: a spec that can never work is refused with a clear message.
func testRefused(t *testing.T) {
	w := newWorld(t)
	long := entry("", "Normalization")
	long.Type = "A123456789012345678901234567890123456789"
	twice := entry("a", "Normalization")
	twice.Containers = append(twice.Containers, container("Normalization"))
	cases := map[string]struct {
		entries []iotv1alpha1.Deployment
		want    string
	}{
		"two entries of one name": {
			[]iotv1alpha1.Deployment{entry("a", "Normalization"), entry("a", "FhirConverter")},
			`spec.deployments[1] comes to the name "a", which is that of spec.deployments[0]`,
		},
		"two entries that come to one name": {
			[]iotv1alpha1.Deployment{entry("", "FhirConverter"), entry("", "FhirTransformation")},
			`comes to the name "connector-of-some-length-fhirconverter"`,
		},
		"the connector's own name": {
			[]iotv1alpha1.Deployment{entry("connector-of-some-length", "Normalization")}, "kept for version 0",
		},
		"a name that is too long": {[]iotv1alpha1.Deployment{long}, "has 65 characters, at most 63"},
		"two containers of one name": {
			[]iotv1alpha1.Deployment{twice}, `spec.deployments[0].containers[1] comes to the name "normalization"`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			refused(t, w.C.Create(t.Context(), w.version1("connector-of-some-length", c.entries...)), c.want)
		})
	}
}
