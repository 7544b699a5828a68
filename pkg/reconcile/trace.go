package reconcile

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Names of the attributes of a span.
const (
	attributePack      = "kinship.pack"
	attributeGroup     = "kinship.group"
	attributeKind      = "kinship.kind"
	attributeNamespace = "kinship.namespace"
	attributeName      = "kinship.name"
	attributeOutcome   = "kinship.outcome"
	attributeReason    = "kinship.reason"
)

// Traced is a manager with a trace.Tracer for its reconcilers.
type Traced interface {
	// Tracer returns what makes the spans, and the name of the pack, which is an attribute of
	// each span. A nil trace.Tracer means that there are no spans.
	Tracer() (tracer trace.Tracer, pack string)
}

// withSpans returns a reconciler that makes a span of each pass. If the manager is not [Traced], or has no
// trace.Tracer, withSpans returns r.
func withSpans(mgr manager.Manager, r reconcile.TypedReconciler[object.ID]) reconcile.TypedReconciler[object.ID] {
	traced, ok := mgr.(Traced)
	if !ok {
		return r
	}
	tracer, pack := traced.Tracer()
	if tracer == nil {
		return r
	}
	return reconcile.TypedFunc[object.ID](func(ctx context.Context, id object.ID) (reconcile.Result, error) {
		ctx, span := tracer.Start(ctx, "reconcile "+id.Kind, trace.WithAttributes(
			attribute.String(attributePack, pack), attribute.String(attributeGroup, id.Group),
			attribute.String(attributeKind, id.Kind), attribute.String(attributeNamespace, id.Namespace),
			attribute.String(attributeName, id.Name),
		))
		defer span.End()
		result, err := r.Reconcile(ctx, id)
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		return result, err
	})
}

// recordOutcome writes the Outcome of the steps of a pass into the pass's span, if there is one.
func recordOutcome(ctx context.Context, o Outcome) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if o.IsDone() {
		span.SetAttributes(attribute.String(attributeOutcome, Done.String()))
		return
	}
	span.SetAttributes(attribute.String(attributeOutcome, o.Worst().State.String()),
		attribute.String(attributeReason, o.Worst().Reason))
}
