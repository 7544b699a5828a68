package admission

import (
	"context"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// DefaultMaxObject is the default of Options.MaxObject. Each object of Kinship's kinds is kept in memory, and its
// parts are copied several times in a pass: six ApplicationConfigurations of 1.25 MB took 800 MB.
const DefaultMaxObject = 256 << 10

// limited wraps a handler so that an object of more than a number of bytes is refused before it is decoded. An update
// that makes such an object smaller is judged, so that an object of an earlier release can be mended and deleted.
func limited(limit int, hook http.Handler) http.Handler {
	return wrapped(hook, func(handler admission.Handler) admission.Handler {
		return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
			size := len(req.Object.Raw)
			if size <= limit || req.Operation == admissionv1.Update && size < len(req.OldObject.Raw) {
				return handler.Handle(ctx, req)
			}
			return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusRequestEntityTooLarge,
				Reason: metav1.StatusReasonRequestEntityTooLarge,
				Message: fmt.Sprintf("%s %s has %d bytes, and Kinship takes at most %d (--max-object-size of the operator): "+
					"divide the object, or move large texts into ConfigMaps", req.Kind.Kind, req.Name, size, limit),
			}}}
		})
	})
}
