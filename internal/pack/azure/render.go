package azure

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Request is a request to ARM that the operator would send for an object.
type Request struct {
	// Object is kind and name, such as VirtualNetwork/net.
	Object string
	// Method is PUT, or GET for an unmanaged object.
	Method         string
	ID, APIVersion string
	// Body is the body that the resource should have, also for an unmanaged object.
	Body map[string]any
}

// Manifests are objects in files, for [Manifests.Render].
type Manifests struct {
	Kinds   *catalogue.Catalogue
	Objects []*unstructured.Unstructured
	// Subscription is the subscription of objects whose files name no subscription.
	Subscription string
	// Find returns the ARM id of an object that no file has, or "". Find may be nil.
	Find func(gk schema.GroupKind, namespace, name string) (string, error)
}

// deepest bounds the length of a chain of owners.
const deepest = 16

// Render returns a [Request] for each of Manifests.Objects. The error names each object without a
// [Request].
func (m *Manifests) Render() ([]Request, error) {
	var all []Request
	var problems []error
	for _, u := range m.Objects {
		one, err := m.render(u)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s/%s: %w", u.GetKind(), u.GetName(), err))
			continue
		}
		all = append(all, one)
	}
	return all, errors.Join(problems...)
}

func (m *Manifests) render(u *unstructured.Unstructured) (Request, error) {
	d, id, err := m.desired(u, deepest)
	if err != nil {
		return Request{}, err
	}
	if err := d.checkReferences(); err != nil {
		return Request{}, err
	}
	d.object.GetExternalStatus().ID = &id
	method, toBody := http.MethodPut, d.body
	if d.object.GetExternalSpec().ManagementPolicy == sharedv1alpha1.PolicyUnmanaged {
		method, toBody = http.MethodGet, d.toARM
	}
	body, err := toBody()
	if err != nil {
		return Request{}, err
	}
	return Request{
		Object: u.GetKind() + "/" + u.GetName(), Method: method, ID: id, APIVersion: d.APIVersion, Body: body,
	}, nil
}

// desired returns the desired resource of an object, and its ARM id. desired.id finds the ARM ids of
// other objects in Manifests.Objects, and else by Manifests.Find.
func (m *Manifests) desired(u *unstructured.Unstructured, most int) (*desired, string, error) {
	found := m.Kinds.Find(u.GroupVersionKind())
	if found == nil {
		return nil, "", fmt.Errorf("the catalogue has no kind %s", u.GroupVersionKind())
	}
	k, err := newKind(m.Kinds, found)
	if err != nil {
		return nil, "", err
	}
	adapted, err := (&external.Unstructured{}).Adapt(u.DeepCopy())
	if err != nil {
		return nil, "", err
	}
	d := newDesired(k, adapted.(*external.Unstructured), m.Subscription, func(gk schema.GroupKind, name string) string {
		return m.lookUp(gk, u.GetNamespace(), name, most)
	})
	if id, _ := d.object.GetImport(); id != "" {
		return d, id, nil
	}
	id, err := d.address()
	if err != nil {
		return nil, "", err
	}
	return d, id.String(), nil
}

// lookUp returns the ARM id of an object that another object names, or "".
func (m *Manifests) lookUp(gk schema.GroupKind, namespace, name string, most int) string {
	for _, u := range m.Objects {
		same := u.GroupVersionKind().GroupKind() == gk && u.GetName() == name && u.GetNamespace() == namespace
		if !same || most == 0 {
			continue
		}
		_, id, err := m.desired(u, most-1)
		if err != nil {
			return ""
		}
		return id
	}
	if m.Find == nil {
		return ""
	}
	id, err := m.Find(gk, namespace, name)
	if err != nil {
		return "" // The object counts as missing, and the error names it.
	}
	return id
}
