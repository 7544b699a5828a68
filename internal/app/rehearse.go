package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rehearsals is how many objects are rehearsed at once.
const rehearsals = 8

// writeOption is an option of every request that writes.
type writeOption interface {
	client.ApplyOption
	client.UpdateOption
}

// rehearse checks by dry runs that the whole installation would succeed, before the first
// write. After half an installation, webhooks may refuse requests although no operator answers.
func rehearse(ctx context.Context, c client.Client, objects []client.Object) error {
	if err := checkService(ctx, c, objects); err != nil {
		return err
	}
	errs := make([]error, len(objects))
	var group errgroup.Group
	group.SetLimit(rehearsals)
	for i, obj := range objects {
		group.Go(func() error {
			errs[i] = apply(ctx, c, obj, client.DryRunAll)
			// The namespace of the operator, and roles that bindings name, are made before.
			if apierrors.IsNotFound(errs[i]) {
				errs[i] = nil
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// checkService checks that the Service of the webhooks exists. Without the Service each webhook
// refuses every request that it judges.
func checkService(ctx context.Context, c client.Client, objects []client.Object) error {
	if !slices.ContainsFunc(objects, calledByService) {
		return nil
	}
	err := c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: service}, &corev1.Service{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no Service %s in namespace %s by which the API server would call the webhooks: "+
			"give --webhook-host, the address by which it reaches this process, or create the Service", service, Namespace)
	}
	if err != nil {
		return fmt.Errorf("read Service %s: %w", service, err)
	}
	return nil
}

func calledByService(obj client.Object) bool {
	for _, h := range webhooksOf(obj) {
		if h.config.Service != nil {
			return true
		}
	}
	return false
}
