package openstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// stray is of a kind of which an object is deleted while its resource is made.
type stray struct {
	kind, plural, resource string
	// service and calls are the requests in the cloud, collection where the test finds the
	// resource.
	service, calls, collection string
}

var strayTests = map[string]func(*testing.T){
	"Network deleted while it is made": stray{
		"Network", "networks", "{}", "network", "networks", "network/networks",
	}.goes,
	// There can't be two of a name, so that the second object has to wait.
	"KeyPair deleted while it is made": stray{
		"KeyPair", "keypairs", fmt.Sprintf("{publicKey: %q}", publicKey), "compute", "os-keypairs", "compute/keypairs",
	}.goes,
}

// goes creates a resource while the API server deletes its object: the object had no finalizer
// when its deletion began, and a finalizer that is added meanwhile keeps nothing. The resource
// is deleted anyway, even if the cloud fails at first, and a new object of the same name gets
// another resource.
func (s stray) goes(t *testing.T) {
	w := newWorld(t)
	secret := w.secret("cloud", w.clouds)
	if err := w.c.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.apply(managed(s.kind, "it", s.resource))
	w.has(s.kind, "it", "Progressing", waitingFor("Secret/cloud to be created"))
	obj := w.get(s.kind, "it")
	held, let := w.holdDeletion(s.plural, obj)
	deleted := make(chan error, 1)
	go func() { deleted <- w.c.Delete(t.Context(), obj) }()
	<-held
	w.cloud.AddFault(emulator.Fault{Service: s.service, Method: http.MethodDelete, Resource: s.calls, Status: 503, Times: 2})
	w.create(secret)
	testenv.Eventually(t, func() error {
		if n := w.done(s, http.MethodPost); n != 1 {
			return fmt.Errorf("%d were made", n)
		}
		return nil
	})
	first := w.inCloud(s.collection, "it")
	let()
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	w.apply(managed(s.kind, "it", s.resource))
	w.available(s.kind, "it")
	testenv.Eventually(t, func() error {
		if ids := w.inCloud(s.collection, "it"); len(ids) != 1 {
			return fmt.Errorf("in the cloud: %v, at first %v", ids, first)
		}
		return nil
	})
	if made, gone := w.done(s, http.MethodPost), w.done(s, http.MethodDelete); made != 2 || gone != 1 {
		t.Errorf("%d were made and %d deleted, want 2 and 1", made, gone)
	}
	if n := w.cloud.Calls()[emulator.Call{Service: s.service, Method: http.MethodDelete, Resource: s.calls}]; n != 3 {
		t.Errorf("%d attempts to delete it, want two that fail and one more", n)
	}
}

// done counts the calls of a method for a kind that were carried out.
func (w *world) done(s stray, method string) int {
	return w.cloud.Done()[emulator.Call{Service: s.service, Method: method, Resource: s.calls}]
}

// holdDeletion makes the API server delay the deletion of an object after it has read the
// object; let releases it.
func (w *world) holdDeletion(resource string, obj client.Object) (held <-chan struct{}, let func()) {
	w.t.Helper()
	reached, released := make(chan struct{}), make(chan struct{})
	var first sync.Once
	judge := func(r *admissionv1.AdmissionRequest) *metav1.Status {
		if r.DryRun != nil && *r.DryRun {
			return &metav1.Status{Message: "it would be held"}
		}
		first.Do(func() { close(reached); <-released })
		return nil
	}
	testenv.JudgeDeletions(w.t, w.ns, openstackv1alpha1.GroupVersion.WithResource(resource), judge)
	testenv.Eventually(w.t, func() error { // The API server sees it by a watch.
		err := w.c.Delete(w.t.Context(), obj, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "it would be held") {
			return fmt.Errorf("deletion was answered with %w", err)
		}
		return nil
	})
	let = sync.OnceFunc(func() { close(released) })
	w.t.Cleanup(let)
	return reached, let
}
