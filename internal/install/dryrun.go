package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
)

// dryRuns is how many objects dryRunAll applies at once.
const dryRuns = 8

// writeOption is an option of both Apply and Update, such as client.DryRunAll.
type writeOption interface {
	client.ApplyOption
	client.UpdateOption
}

// dryRunAll applies all objects with client.DryRunAll before the first write. After an incomplete
// [Install], webhooks may refuse requests although no operator answers.
func dryRunAll(ctx context.Context, c client.Client, objects []client.Object) error {
	errs := make([]error, len(objects))
	var group errgroup.Group
	group.SetLimit(dryRuns)
	for i, obj := range objects {
		group.Go(func() error {
			errs[i] = apply(ctx, c, obj, client.DryRunAll)
			// The namespace kinship-system, and a ClusterRole that a binding names, may not exist
			// in a dry run: apply creates both earlier than the objects that need them.
			if apierrors.IsNotFound(errs[i]) {
				errs[i] = nil
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return errors.Join(joinForbidden(errs)...)
}

// joinForbidden joins all Forbidden errors of the same reason to one error, such as those of a user
// who may not patch CustomResourceDefinitions.
func joinForbidden(errs []error) []error {
	const word = " is forbidden: "
	var all []error
	at, number := map[string]int{}, map[string]int{}
	for _, err := range errs {
		if !apierrors.IsForbidden(err) {
			all = append(all, err)
			continue
		}
		_, reason, _ := strings.Cut(err.Error(), word)
		i, again := at[reason]
		if !again {
			at[reason] = len(all)
			all = append(all, err)
			continue
		}
		number[reason]++
		first, _, _ := strings.Cut(all[i].Error(), "\n")
		first, _, _ = strings.Cut(first, moreObjects)
		all[i] = fmt.Errorf("%s%s%d more objects", first, moreObjects, number[reason])
	}
	return all
}

// moreObjects begins the text that joinForbidden adds to the first error of a reason.
const moreObjects = "; so are "

// checkInstaller checks the rights of the installer in namespace kinship-system that no dry run of
// an object covers: to the certificate's Secret, to Leases, and to tokens of [options.Account].
func checkInstaller(ctx context.Context, c client.Client) error {
	var missing []string
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "secrets"},
		{Verb: "get", Resource: "secrets", Name: options.CertificateSecret},
		{Verb: "update", Resource: "secrets", Name: options.CertificateSecret},
		{Verb: "list", Group: "coordination.k8s.io", Resource: "leases"},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases"},
		{Verb: "update", Group: "coordination.k8s.io", Resource: "leases"},
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Name: options.Account},
	} {
		right.Namespace = options.Namespace
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
		}
		if err := c.Create(ctx, review); err != nil {
			return fmt.Errorf("ask for the rights of the installer: %w", err)
		}
		if review.Status.Allowed {
			continue
		}
		what := right.Resource
		if right.Subresource != "" {
			what += "/" + right.Subresource
		}
		missing = append(missing, right.Verb+" "+what)
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("you may not %s in namespace %s: install as a user with these rights, such as a cluster "+
		"administrator", strings.Join(missing, ", "), options.Namespace)
}

// checkSuperseded deletes the superseded objects with client.DryRunAll, and returns an error for
// each object that the user may not delete.
func checkSuperseded(ctx context.Context, o options.Options, c client.Client, objects []client.Object) error {
	left, err := superseded(ctx, o, c, objects)
	if err != nil {
		return err
	}
	var errs []error
	for _, obj := range left {
		if err := c.Delete(ctx, obj, client.DryRunAll); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("delete %s %s, which another installation has left: %w",
				obj.GetKind(), obj.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

// checkService checks that the Service kinship-webhook exists. Without the Service, the API server
// can't call the webhooks, and refuses every request that a webhook would judge.
func checkService(ctx context.Context, c client.Client, objects []client.Object) error {
	if !slices.ContainsFunc(objects, calledByService) {
		return nil
	}
	err := c.Get(ctx, client.ObjectKey{Namespace: options.Namespace, Name: options.Service}, &corev1.Service{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no Service %s in namespace %s by which the API server would call the webhooks: "+
			"give --webhook-host, the address by which it reaches this process, or create the Service",
			options.Service, options.Namespace)
	}
	if err != nil {
		return fmt.Errorf("read Service %s: %w", options.Service, err)
	}
	return nil
}

func calledByService(obj client.Object) bool {
	for _, h := range guards.WebhooksOf(obj) {
		if h.Config.Service != nil {
			return true
		}
	}
	return false
}
