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
	k, s, err := m.settingOf(u, deepest)
	if err != nil {
		return Request{}, err
	}
	if err := k.checkReferences(s); err != nil {
		return Request{}, err
	}
	id, err := m.idOf(k, s)
	if err != nil {
		return Request{}, err
	}
	s.object.GetExternalStatus().ID = &id
	unmanaged := s.object.GetExternalSpec().ManagementPolicy == sharedv1alpha1.PolicyUnmanaged
	toBody := k.toSend
	if unmanaged {
		toBody = k.body
	}
	body, err := toBody(s)
	if err != nil {
		return Request{}, err
	}
	one := Request{
		Object: u.GetKind() + "/" + u.GetName(), Method: http.MethodPut, ID: id, APIVersion: k.APIVersion, Body: body,
	}
	if unmanaged {
		one.Method = http.MethodGet
	}
	return one, nil
}

// idOf returns the ARM id of an object's resource.
func (m *Manifests) idOf(k *kind, s setting) (string, error) {
	if id, _ := s.object.GetImport(); id != "" {
		return id, nil
	}
	id, err := k.address(s)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

// settingOf returns an object with its kind. setting.id finds the ARM ids of other objects in
// Manifests.Objects, and else by Manifests.Find.
func (m *Manifests) settingOf(u *unstructured.Unstructured, most int) (*kind, setting, error) {
	found := m.Kinds.Find(u.GroupVersionKind())
	if found == nil {
		return nil, setting{}, fmt.Errorf("the catalogue has no kind %s", u.GroupVersionKind())
	}
	definition, err := found.Definition()
	if err != nil {
		return nil, setting{}, err
	}
	adapted, err := (&external.Unstructured{}).Adapt(u.DeepCopy())
	if err != nil {
		return nil, setting{}, err
	}
	k := &kind{entry: found, all: m.Kinds, definition: definition}
	return k, setting{
		object: adapted.(*external.Unstructured), subscription: m.Subscription,
		id: func(gk schema.GroupKind, name string) string { return m.lookUp(gk, u.GetNamespace(), name, most) },
	}, nil
}

// lookUp returns the ARM id of an object that another object names, or "".
func (m *Manifests) lookUp(gk schema.GroupKind, namespace, name string, most int) string {
	for _, u := range m.Objects {
		same := u.GroupVersionKind().GroupKind() == gk && u.GetName() == name && u.GetNamespace() == namespace
		if !same || most == 0 {
			continue
		}
		k, s, err := m.settingOf(u, most-1)
		if err != nil {
			return ""
		}
		id, err := m.idOf(k, s)
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
