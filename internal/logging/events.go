package logging

import (
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/redact"
)

// eventLog is an EventRecorder that also writes each event as one line of the log: object, reason and
// message. A controller records an event per change and not per pass, so the log of a quiet cluster
// is quiet.
type eventLog struct {
	ctrlrecorder.EventRecorder

	scheme *runtime.Scheme
	log    logr.Logger
}

// NewEventLog returns an EventRecorder that also writes to a log.
func NewEventLog(to ctrlrecorder.EventRecorder, scheme *runtime.Scheme, log logr.Logger) ctrlrecorder.EventRecorder {
	return eventLog{to, scheme, log}
}

// Eventf implements ctrlrecorder.EventRecorder.
func (e eventLog) Eventf(
	regarding, related runtime.Object, eventtype, reason, action, note string, args ...any,
) {
	message := redact.Text(fmt.Sprintf(note, args...))
	e.EventRecorder.Eventf(regarding, related, eventtype, reason, action, "%s", message)
	values := []any{"object", e.nameOf(regarding), "message", message}
	if related != nil {
		values = append(values, "related", e.nameOf(related))
	}
	if eventtype == corev1.EventTypeWarning {
		Warn(e.log, reason, values...)
		return
	}
	e.log.Info(reason, values...)
}

// nameOf returns the [object.ID] of an object as text.
func (e eventLog) nameOf(obj runtime.Object) string {
	if ref, ok := obj.(*corev1.ObjectReference); ok {
		group := ref.GroupVersionKind().Group
		return object.ID{Group: group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}.String()
	}
	gvk, err := apiutil.GVKForObject(obj, e.scheme)
	if err != nil {
		gvk.Kind = fmt.Sprintf("%T", obj)
	}
	named, err := meta.Accessor(obj)
	if err != nil {
		return gvk.Kind
	}
	return object.ID{
		Group: gvk.Group, Kind: gvk.Kind, Namespace: named.GetNamespace(), Name: named.GetName(),
	}.String()
}
