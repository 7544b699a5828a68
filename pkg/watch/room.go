package watch

import (
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// bounded reports whether the Tally bounds the objects of a source.
func (s *source) bounded() bool {
	f := s.factory
	return f.Tally != nil && f.Bounded != nil && f.Bounded(s.gvk.GroupKind())
}

// fit returns an object if the object has room. Without room, fit reports the object to [Health] and returns the object
// of the informer's cache.Store, whose deletion goes on, or nil.
func (s *source) fit(obj runtime.Object) runtime.Object {
	o, ok := obj.(client.Object)
	if !ok || o.GetNamespace() == "" { // Users of one namespace write no objects outside of namespaces.
		return obj
	}
	o.SetManagedFields(nil) // Informers don't keep them.
	if err := s.put(o.GetUID(), o.GetNamespace(), Footprint(obj)); err != nil {
		s.factory.Health.leftOut(s.part(), o, err)
		if last := s.last(o); last != nil {
			return last
		}
		return nil
	}
	s.factory.Health.fits(s.part(), o.GetUID())
	return obj
}

// fitList drops the objects of a list that have no room. A page of a list ends no object.
func (s *source) fitList(list runtime.Object, options metav1.ListOptions) error {
	all, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	of, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	if options.Continue == "" {
		s.beginList()
	}
	fitting := make([]runtime.Object, 0, len(all))
	for _, obj := range all {
		if obj = s.fit(obj); obj != nil {
			fitting = append(fitting, obj)
		}
	}
	if of.GetContinue() == "" {
		s.endList()
	}
	return meta.SetList(list, fitting)
}

// fitWatch returns a watch without the objects that have no room. When there is room again, the watch ends with the
// error Expired, upon which the reflector of client-go lists all objects again.
func (s *source) fitWatch(w watch.Interface, options metav1.ListOptions) watch.Interface {
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		s.beginList()
	}
	out := make(chan watch.Event)
	fitted := watch.NewProxyWatcher(out)
	go func() {
		defer close(out)
		defer w.Stop()
		for {
			e, more := s.next(w, fitted.StopChan())
			if !more {
				return
			}
			if e.Object == nil {
				continue
			}
			select {
			case out <- e:
			case <-fitted.StopChan():
				return
			}
		}
	}()
	return fitted
}

// next returns the next event of a watch. The event has no object if the object is left out.
func (s *source) next(w watch.Interface, stopped <-chan struct{}) (e watch.Event, more bool) {
	select {
	case <-stopped:
		return e, false
	case <-s.kept.again:
		return watch.Event{Type: watch.Error, Object: &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
			Message: "there is room for objects that were left out",
		}}, true
	case e, more = <-w.ResultChan():
	}
	switch o, isObject := e.Object.(client.Object); {
	case !more || !isObject:
	case e.Type == watch.Added, e.Type == watch.Modified:
		e.Object = s.fit(e.Object)
	case e.Type == watch.Deleted:
		s.drop(o.GetUID())
		s.factory.Health.fits(s.part(), o.GetUID())
	case e.Type == watch.Bookmark && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true":
		s.endList()
	}
	return e, more
}
