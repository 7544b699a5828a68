package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// untyped lists and watches a kind as unstructured.Unstructured and decodes each object
// separately. This costs more memory and time per object, so a source with a Go type uses untyped
// only after an object of the kind could not be decoded, and then until the operator ends. A source
// with an [Adapter] always uses untyped.
type untyped struct {
	from atomic.Pointer[cache.ListerWatcherWithContext]
}

func (u *untyped) used() bool { return u.from.Load() != nil }

func (u *untyped) use(s *source) error {
	from, err := s.factory.Untyped(s.gvk, s.namespace)
	if err != nil {
		return fmt.Errorf("list objects of kind %s one by one: %w", s.gvk.Kind, err)
	}
	u.from.Store(&from)
	return nil
}

// isDecodeError reports whether the API server answered a LIST and client-go could not decode
// the answer. An APIStatus, a net.Error, io.EOF and a cancelled context are other errors.
func isDecodeError(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var status apierrors.APIStatus
	answered := errors.As(err, &status)
	_, network := errors.AsType[net.Error](err)
	return !answered && !network && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// watchDecoding is the cause in the Status of a watch event that rest.Request of client-go
// could not decode.
const watchDecoding metav1.CauseType = "ClientWatchDecoding"

func isDecodeEvent(e watch.Event) bool {
	status, ok := e.Object.(*metav1.Status)
	return ok && status.Details != nil && slices.ContainsFunc(status.Details.Causes,
		func(c metav1.StatusCause) bool { return c.Type == watchDecoding })
}

// listEach lists a kind and decodes each object by itself.
func (s *source) listEach(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	answer, err := (*s.untyped.from.Load()).ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	from, ok := answer.(*unstructured.UnstructuredList)
	if !ok {
		return nil, fmt.Errorf("list objects of kind %s one by one: the answer is a %T", s.gvk.Kind, answer)
	}
	items := make([]runtime.Object, 0, len(from.Items))
	listed := map[types.UID]bool{}
	for i := range from.Items {
		listed[from.Items[i].GetUID()] = true
		if obj := s.decode(&from.Items[i]); obj != nil {
			items = append(items, obj)
		}
	}
	s.factory.Health.retain(s.part(), listed, options.Continue != "" || from.GetContinue() != "")
	list, err := s.listOf(items, from)
	if err != nil {
		return nil, fmt.Errorf("list objects of kind %s one by one: %w", s.gvk.Kind, err)
	}
	return list, nil
}

// last returns the object in the informer's cache.Store, with the metadata.resourceVersion, the
// metadata.deletionTimestamp and the metadata.finalizers of u: the object can be deleted. last returns
// nil if the store has no object with the metadata.uid of u.
func (s *source) last(u client.Object) client.Object {
	item, exists, err := s.store.GetByKey(client.ObjectKeyFromObject(u).String())
	if err != nil || !exists {
		return nil
	}
	held, ok := item.(client.Object)
	if !ok || held.GetUID() != u.GetUID() {
		return nil
	}
	held = held.DeepCopyObject().(client.Object)
	held.SetResourceVersion(u.GetResourceVersion())
	held.SetDeletionTimestamp(u.GetDeletionTimestamp())
	held.SetFinalizers(u.GetFinalizers())
	return held
}

// watchEach watches a kind and decodes each event by itself.
func (s *source) watchEach(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := (*s.untyped.from.Load()).WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			return e, true // A watch.Error event with a Status.
		}
		obj := s.decode(u)
		if e.Type == watch.Deleted {
			s.factory.Health.readable(s.part(), u.GetUID())
			if obj == nil {
				obj = s.metadataOf(u)
			}
		}
		e.Object = obj
		return e, obj != nil
	}), nil
}

// decode returns an object as its Go type. If convert fails, decode reports the object
// to [Health] and returns the object in the informer's cache.Store: the object still exists,
// and without its last state the protection by an unreadable Usage would end. decode returns
// nil if the store never had the object.
func (s *source) decode(u *unstructured.Unstructured) runtime.Object {
	obj, err := s.convert(u)
	if err != nil {
		s.factory.Health.unreadable(s.part(), u, err)
		if last := s.last(u); last != nil {
			return last
		}
		return nil // An interface that holds a nil client.Object would not be nil.
	}
	s.factory.Health.readable(s.part(), u.GetUID())
	return obj
}

// metadataOf returns an object of the Go type with only the metadata of u, for its
// watch.Deleted event.
func (s *source) metadataOf(u *unstructured.Unstructured) runtime.Object {
	obj, err := s.empty()
	if err != nil {
		return nil
	}
	if o, ok := obj.(client.Object); ok {
		o.SetName(u.GetName())
		o.SetNamespace(u.GetNamespace())
		o.SetUID(u.GetUID())
		o.SetResourceVersion(u.GetResourceVersion())
	}
	return obj
}
