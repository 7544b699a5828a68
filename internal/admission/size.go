package admission

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// DefaultMaxObject is the default of Options.MaxObject. Each object of Kinship's kinds is kept in memory, and its
// parts are copied several times in a pass: six ApplicationConfigurations of 1.25 MB took 800 MB.
const DefaultMaxObject = 256 << 10

// limited wraps a handler so that an object of more than a number of bytes is refused before it is decoded, and an
// object for which the operator has no room. An update that makes an object smaller is judged, so that an object of an
// earlier release can be mended and deleted.
func (o Options) limited(hook http.Handler) http.Handler {
	limit := cmp.Or(o.MaxObject, DefaultMaxObject)
	return wrapped(hook, func(handler admission.Handler) admission.Handler {
		return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
			size := len(req.Object.Raw)
			isSmaller := req.Operation == admissionv1.Update && size < len(req.OldObject.Raw)
			if size > limit && !isSmaller {
				return tooLarge("%s %s has %d bytes, and Kinship takes at most %d (--max-object-size of the operator): "+
					"divide the object, or move large texts into ConfigMaps", req.Kind.Kind, req.Name, size, limit)
			}
			kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
			if o.Room != nil && size > len(req.OldObject.Raw) && req.SubResource == "" {
				if err := o.Room(kind, req.Namespace); err != nil {
					return tooLarge("%s %s: %v", req.Kind.Kind, req.Name, err)
				}
			}
			return handler.Handle(ctx, req)
		})
	})
}

func tooLarge(format string, args ...any) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusRequestEntityTooLarge,
		Reason: metav1.StatusReasonRequestEntityTooLarge, Message: fmt.Sprintf(format, args...),
	}}}
}
