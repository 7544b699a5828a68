package uninstall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/identity"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// errGuarded says that a guard of the operator protects a trace on an object: a webhook that no
// operator answers, or a policy that lets only [options.Operators] remove a label.
var errGuarded = errors.New("a guard is in the way")

// traceRemover removes each pack.Trace from its object. traceRemover acts as the ServiceAccounts in
// [options.Operators], which the guards let through. If these ServiceAccounts lack a right or do not exist,
// traceRemover acts as the user of `kinship uninstall`.
type traceRemover struct {
	clients []metadata.Interface
	// patient makes removeAs repeat a request after errGuarded. The API server may still apply a
	// guard for some seconds after the deletion of the guard.
	patient bool
}

func newTraceRemover(ctx context.Context, o options.Options) (traceRemover, error) {
	var s traceRemover
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return s, err
	}
	own, err := metadata.NewForConfig(o.Config)
	if err != nil {
		return s, fmt.Errorf("make metadata client: %w", err)
	}
	accounts := []string{options.Account} // Of a release that had no other.
	for _, p := range chosen {
		accounts = append(accounts, options.AccountOf(p.Name))
	}
	for _, account := range accounts {
		config, err := identity.As(ctx, o.Config, account)
		if errors.Is(err, identity.ErrNotInstalled) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return s, err
		}
		operator, err := metadata.NewForConfig(config)
		if err != nil {
			return s, fmt.Errorf("make metadata client: %w", err)
		}
		s.clients = append(s.clients, operator)
	}
	s.clients = append(s.clients, own)
	return s, nil
}

// removeAll removes all traces. If removeAll can't remove an owner reference (Trace.Owner), removeAll
// ends and keeps the later traces: without its finalizer, the garbage collector would delete the
// object with its owner.
func (s traceRemover) removeAll(ctx context.Context, traces []pack.Trace) error {
	var failed []error
	for _, t := range traces {
		err := s.remove(ctx, t)
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("take %s off %s %s/%s: %w",
			t.What(), t.Resource.Resource, t.Object.Namespace, t.Object.Name, err))
		if t.Owner != "" {
			break
		}
	}
	return errors.Join(failed...)
}

// remove removes a pack.Trace as the first of traceRemover.clients for which the API server does not
// answer Forbidden.
func (s traceRemover) remove(ctx context.Context, t pack.Trace) error {
	var err error
	for _, c := range s.clients {
		if err = s.removeAs(ctx, c, t); !apierrors.IsForbidden(err) {
			return err
		}
	}
	return err
}

// removeAs removes a pack.Trace as one user, and repeats the Patch after a conflict.
func (s traceRemover) removeAs(ctx context.Context, c metadata.Interface, t pack.Trace) error {
	resource := c.Resource(t.Resource).Namespace(t.Object.Namespace)
	obj := t.Object
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 10*time.Second, true,
		func(ctx context.Context) (bool, error) {
			patch, err := removal(t, obj)
			if err != nil || patch == nil {
				return true, err
			}
			answer, err := resource.Patch(ctx, obj.Name, types.MergePatchType, patch,
				metav1.PatchOptions{FieldManager: string(guards.InstallManager)})
			switch {
			case reconcile.IsOvertaken(err):
				last = err
				obj, err = resource.Get(ctx, t.Object.Name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			case unanswered(err):
				last = fmt.Errorf("%w: %w", errGuarded, err)
				return false, s.impatience(last)
			case err != nil:
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			case t.Strip(answer.DeepCopy()):
				obj, last = answer, fmt.Errorf("%w: it was put back at once", errGuarded)
				return false, s.impatience(last)
			}
			return true, nil
		})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// impatience returns nil if traceRemover.patient is true, so that removeAs repeats the request, or else
// the error.
func (s traceRemover) impatience(err error) error {
	if s.patient {
		return nil
	}
	return err
}

// removal returns the patch that removes a pack.Trace from an object, or nil if the object no
// longer has the trace or has another UID.
func removal(t pack.Trace, obj *metav1.PartialObjectMetadata) ([]byte, error) {
	before, after := obj.DeepCopy(), obj.DeepCopy()
	before.SetGroupVersionKind(schema.GroupVersionKind{})
	after.SetGroupVersionKind(schema.GroupVersionKind{})
	if obj.UID != t.Object.UID || !t.Strip(after) {
		return nil, nil
	}
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
}

// unanswered reports whether the API server refused a request because a webhook did not answer.
func unanswered(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
