package logging

import (
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/kinship-dev/kinship/internal/options"
)

const (
	// denialPause is how long denials.isNew returns false for a right that the log has named.
	denialPause = 10 * time.Minute
	// maxDenials bounds the rights that denials knows.
	maxDenials = 1000
)

// denials knows which missing rights of the operator the log has named. Without a role, each pass over each object of a
// kind fails by the same missing right: the log names the right once, and the metric
// controller_runtime_reconcile_errors_total counts the passes. denials is safe for concurrent use.
type denials struct{ named *cache.LRUExpireCache }

func newDenials(c cache.Clock) denials {
	return denials{cache.NewLRUExpireCacheWithClock(maxDenials, c)}
}

// isNew reports whether the log has to name an error: each error but a missing right that the log has named within
// denialPause.
func (d denials) isNew(err error) bool {
	right := missingRight(err)
	if right == "" {
		return true
	}
	if _, named := d.named.Get(right); named {
		return false
	}
	d.named.Add(right, nil, denialPause-1) // The cache has an entry until after the end of its time.
	return true
}

// missingRight returns account, verb and resource of an error by which the API server denies the operator a right, or
// "". The texts for two objects, or for two namespaces, are the same.
func missingRight(err error) string {
	if !apierrors.IsForbidden(err) {
		return ""
	}
	_, right, found := strings.Cut(err.Error(), `is forbidden: User "`+options.UserPrefix)
	if !found || !strings.Contains(right, "cannot ") {
		return "" // A webhook or a policy refused the request.
	}
	right, _, _ = strings.Cut(right, " in the namespace ")
	return right
}
