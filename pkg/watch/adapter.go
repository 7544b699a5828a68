package watch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Adapter is an unstructured object with Go fields for a part of the content. One Adapter serves
// many kinds, also those whose definitions are only known at run time: no scheme has its Go type.
//
// An informer that [Open] opens with an Adapter as example holds what Adapt returns for each object.
// An object for which Adapt fails is reported to [Health] and left out, like an object of another
// kind that cannot be decoded.
type Adapter interface {
	client.Object
	runtime.Unstructured
	// Adapt returns an object of the same Go type with the content of u. Adapt may keep u.
	Adapt(u *unstructured.Unstructured) (client.Object, error)
}

// empty returns an object of the Go type of the source, without content but the kind.
func (s *source) empty() (runtime.Object, error) {
	adapter, ok := s.example.(Adapter)
	if !ok {
		return s.factory.Scheme.New(s.gvk)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.gvk)
	return adapter.Adapt(u)
}

// convert returns u as the Go type of the source.
func (s *source) convert(u *unstructured.Unstructured) (runtime.Object, error) {
	if adapter, ok := s.example.(Adapter); ok {
		return adapter.Adapt(u)
	}
	obj, err := s.factory.Scheme.New(s.gvk)
	if err != nil {
		return nil, err
	}
	return obj, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj)
}

// listOf returns a list of objects of the source, with the metadata of another list.
func (s *source) listOf(items []runtime.Object, of metav1.ListInterface) (runtime.Object, error) {
	if _, ok := s.example.(Adapter); ok {
		return &metainternalversion.List{
			ListMeta: metav1.ListMeta{ResourceVersion: of.GetResourceVersion(), Continue: of.GetContinue()}, Items: items,
		}, nil
	}
	into, err := s.factory.Scheme.New(s.gvk.GroupVersion().WithKind(s.gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	if err := meta.SetList(into, items); err != nil {
		return nil, err
	}
	list, err := meta.ListAccessor(into)
	if err != nil {
		return nil, fmt.Errorf("find the metadata of a %T: %w", into, err)
	}
	list.SetResourceVersion(of.GetResourceVersion())
	list.SetContinue(of.GetContinue())
	return into, nil
}
