package usage

import (
	"context"
	"fmt"
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
)

// enforcer implements guard.Enforcer for the webhook's configuration, or for the
// policy and its binding.
type enforcer struct {
	live    client.Client
	install func(context.Context, client.Object) error // nil where somebody else installs
	objects []client.Object                            // as they should be
}

func newEnforcer(env pack.Environment) *enforcer {
	e := &enforcer{live: env.Live, install: env.Install}
	if env.Enforcement == pack.ByPolicy {
		e.objects = env.Installation.Limit(refuseByPolicy())
	} else {
		e.objects = env.Installation.Limit([]client.Object{refuseByWebhook(env.Installation)})
	}
	return e
}

// enforcing returns the kind of an object that has the API server refuse.
func enforcing(obj client.Object) string {
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
func (e *enforcer) Objects() []object.ID {
	ids := make([]object.ID, 0, len(e.objects))
	for _, obj := range e.objects {
		ids = append(ids, object.ID{Group: guard.ConfigurationKind.Group, Kind: enforcing(obj), Name: obj.GetName()})
	}
	return ids
}

// Check implements guard.Enforcer.
func (e *enforcer) Check(ctx context.Context) error {
	for _, template := range e.objects {
		live, err := e.read(ctx, template)
		if err != nil {
			return err
		}
		if live == nil {
			return &guard.Fault{Message: fmt.Sprintf("%s %s is missing, so deletions are not refused: "+
				"install it again, or run with --install", enforcing(template), template.GetName())}
		}
		if pack.Altered(live, template) {
			return &guard.Fault{Message: fmt.Sprintf("%s %s was altered, so deletions may not be refused: "+
				"install it again, or run with --install", enforcing(template), template.GetName())}
		}
	}
	return nil
}

// Restore implements guard.Enforcer.
func (e *enforcer) Restore(ctx context.Context) error {
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
		if !pack.Altered(live, template) {
			continue
		}
		before := live.DeepCopyObject().(client.Object)
		pack.Rectify(live, template)
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := e.live.Patch(ctx, live, patch); err != nil {
			return fmt.Errorf("restore %s %s: %w", enforcing(template), template.GetName(), err)
		}
	}
	return nil
}

// read returns an object as it is, or nil if there is none.
func (e *enforcer) read(ctx context.Context, template client.Object) (client.Object, error) {
	live := reflect.New(reflect.TypeOf(template).Elem()).Interface().(client.Object)
	err := e.live.Get(ctx, client.ObjectKeyFromObject(template), live)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absent is an answer here, not a failure
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", enforcing(template), template.GetName(), err)
	}
	return live, nil
}
