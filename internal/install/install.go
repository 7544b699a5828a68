package install

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
)

// Install applies everything that Options.Packs need: CustomResourceDefinitions, rights, webhooks
// and policies. Install changes nothing if an object without the label part-of=kinship has the name
// of such an object, unless Options.Adopt is set.
func Install(ctx context.Context, o options.Options) error {
	o, err := Prepare(ctx, o)
	if err != nil {
		return err
	}
	return Perform(ctx, o, nil)
}

// Perform is [Install] for a caller that has called [Prepare], and has found faults already, such as an address
// in use.
func Perform(ctx context.Context, o options.Options, found error) error {
	c, err := options.NewClient(o, o.Config)
	if err != nil {
		return err
	}
	mutating, err := guards.ServesMutatingPolicies(o)
	if err != nil {
		return err
	}
	objects, err := Objects(o, mutating)
	if err != nil {
		return err
	}
	if err := checkBefore(ctx, o, c, objects, found); err != nil {
		return err
	}
	if err := recordInstallation(ctx, o, c, objects, mutating); err != nil {
		return err
	}
	if err := applyAll(ctx, o, c, objects); err != nil {
		return err
	}
	if err := awaitDefinitions(ctx, c, objects); err != nil {
		return err
	}
	if err := supersede(ctx, o, c, objects); err != nil {
		return err
	}
	return settleBeside(ctx, o, c)
}

// checkBefore returns all reasons why objects can't be installed as one error, with the faults that
// the caller has found. checkBefore writes nothing.
func checkBefore(ctx context.Context, o options.Options, c client.Client, objects []client.Object, found error) error {
	errs := []error{
		found, checkNamespacesExist(ctx, o, c), checkUpgrade(ctx, o, c, definitionsOf(objects)), checkInstaller(ctx, c),
		checkService(ctx, c, objects), checkSuperseded(ctx, o, c, objects), checkConflicts(ctx, o, c),
	}
	rehearsed := objects
	if !o.Adopt {
		theirs, err := foreign(ctx, c, objects)
		if err != nil {
			return fmt.Errorf("nothing was installed: %w", err)
		}
		errs = append(errs, foreignError(theirs))
		rehearsed = Without(objects, theirs)
	}
	errs = append(errs, dryRunAll(ctx, c, rehearsed))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nothing was installed: %w", err)
	}
	return nil
}

// settleBeside calls eachAccount and retireIdle for installed packs that Options.Packs leaves out.
func settleBeside(ctx context.Context, o options.Options, c client.Client) error {
	beside, err := PacksBeside(ctx, o, c)
	if err != nil {
		return err
	}
	if err := eachAccount(ctx, o, c, beside); err != nil {
		return err
	}
	return retireIdle(ctx, o, c, beside)
}

// recordInstallation writes record.Installed: a running operator of another release then accepts
// the guards that [Install] is going to apply.
func recordInstallation(
	ctx context.Context, o options.Options, c client.Client, objects []client.Object, mutating bool,
) error {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if _, ok := obj.(*corev1.Namespace); !ok {
			continue
		}
		if err := apply(ctx, c, obj); err != nil {
			return err
		}
	}
	return guards.CompareRecords(ctx, o, c, chosen, mutating, true)
}

// applyAll applies objects in order. applyAll writes the secret path of the existing
// certificate.Bundle into webhook configurations, so that the API server still reaches a running
// operator.
func applyAll(ctx context.Context, o options.Options, c client.WithWatch, objects []client.Object) error {
	path := ""
	for _, obj := range objects {
		if guards.WebhooksOf(obj) != nil && path == "" {
			bundle, err := guards.NewCertificates(o, c, nil).Ensure(ctx)
			if err != nil {
				return fmt.Errorf("make the webhooks' certificate: %w", err)
			}
			path = bundle.Path
		}
		if err := guards.AddSecretPath(obj, obj.DeepCopyObject().(client.Object), path); err != nil {
			return err
		}
		if err := apply(ctx, c, obj); err != nil {
			return err
		}
		if err := guards.Rectify(ctx, c, obj); err != nil {
			return err
		}
	}
	return nil
}
