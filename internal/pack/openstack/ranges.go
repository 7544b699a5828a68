package openstack

import (
	"context"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is the back-off for the list of ServiceCIDRs: 6 attempts within 6 s.
var patience = wait.Backoff{Steps: 6, Duration: 200 * time.Millisecond, Factor: 2}

// worthAnother reports whether a failed list may succeed a moment later.
func worthAnother(err error) bool {
	return !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err)
}

// serviceRanges returns the address ranges of Services (ServiceCIDR). Before Kubernetes 1.33
// there are no ServiceCIDRs. serviceRanges is called only once, at the start.
func serviceRanges(ctx context.Context, c client.Client, log logr.Logger) []netip.Prefix {
	var found networkingv1.ServiceCIDRList
	list := func() error { return c.List(ctx, &found) }
	if err := retry.OnError(patience, worthAnother, list); err != nil {
		log.Info("The ranges of Services are not known: close them with --openstack-closed-cidrs", "reason", err.Error())
		return nil
	}
	var ranges []netip.Prefix
	for _, one := range found.Items {
		for _, text := range one.Spec.CIDRs {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				ranges = append(ranges, prefix)
			}
		}
	}
	return ranges
}
