package pack

import (
	"context"
	"fmt"
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Enforcer implements guard.Enforcer for objects that have the API server refuse requests: a
// webhook configuration, or an admission policy with its binding.
type Enforcer struct {
	live    client.Client
	install func(context.Context, client.Object) error // nil without --install
	objects []client.Object                            // as they should be
}

// NewEnforcer returns an Enforcer of objects, limited to the namespaces of an installation.
func NewEnforcer(env Environment, objects []client.Object) *Enforcer {
	return &Enforcer{live: env.Live, install: env.Install, objects: env.Installation.Limit(objects)}
}

// enforcingKind returns the kind of an object of an Enforcer.
func enforcingKind(obj client.Object) string {
	switch obj.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return "ValidatingAdmissionPolicy"
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return "ValidatingAdmissionPolicyBinding"
	default:
		return guard.ConfigurationKind.Kind
	}
}

// Objects implements guard.Enforcer.
func (e *Enforcer) Objects() []object.ID {
	ids := make([]object.ID, 0, len(e.objects))
	for _, obj := range e.objects {
		ids = append(ids, object.ID{Group: guard.ConfigurationKind.Group, Kind: enforcingKind(obj), Name: obj.GetName()})
	}
	return ids
}

// Check implements guard.Enforcer.
func (e *Enforcer) Check(ctx context.Context) error {
	for _, template := range e.objects {
		live, err := e.read(ctx, template)
		if err != nil {
			return err
		}
		if live == nil {
			return &guard.Fault{Message: fmt.Sprintf("%s %s is missing, so deletions are not refused: "+
				"install it again, or run with --install", enforcingKind(template), template.GetName())}
		}
		if Altered(live, template) {
			return &guard.Fault{Message: fmt.Sprintf("%s %s was altered, so deletions may not be refused: "+
				"install it again, or run with --install", enforcingKind(template), template.GetName())}
		}
	}
	return nil
}

// Restore implements guard.Enforcer.
func (e *Enforcer) Restore(ctx context.Context) error {
	if e.install == nil {
		return e.Check(ctx)
	}
	for _, template := range e.objects {
		live, err := e.read(ctx, template)
		if err != nil {
			return err
		}
		if live == nil {
			if err := e.install(ctx, template); err != nil {
				return err
			}
			continue
		}
		if !Altered(live, template) {
			continue
		}
		before := live.DeepCopyObject().(client.Object)
		Rectify(live, template)
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := e.live.Patch(ctx, live, patch); err != nil {
			return fmt.Errorf("restore %s %s: %w", enforcingKind(template), template.GetName(), err)
		}
	}
	return nil
}

// read returns an object from the API server, or nil if there is none.
func (e *Enforcer) read(ctx context.Context, template client.Object) (client.Object, error) {
	live := reflect.New(reflect.TypeOf(template).Elem()).Interface().(client.Object)
	err := e.live.Get(ctx, client.ObjectKeyFromObject(template), live)
	if apierrors.IsNotFound(err) {
		return nil, nil // Absent is an answer here, not a failure.
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", enforcingKind(template), template.GetName(), err)
	}
	return live, nil
}
