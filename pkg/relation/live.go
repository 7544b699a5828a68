package relation

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinship-dev/kinship/pkg/watch"
)

// LiveHolds decides as [Force.Of] does whether an edge holds its target, but reads the API
// server instead of a store. LiveHolds is for decisions for which a late watch is not good
// enough, such as allowing the deletion of a locked object.
func (w *Watcher) LiveHolds(ctx context.Context, e Edge) (bool, error) {
	if e.Content != nil {
		if found, err := w.exists(ctx, *e.Content); err != nil || !found {
			return false, err
		}
	}
	if e.Source.IsZero() {
		return true, nil
	}
	if e.Source.Selector != nil || e.SourceUID == "" {
		return w.exists(ctx, e.Source)
	}
	obj, err := w.Live(ctx, e.Source.ID)
	return err == nil && obj.UID == e.SourceUID, IgnoreGone(err)
}

// exists reports whether the API server has an object that ref stands for.
func (w *Watcher) exists(ctx context.Context, ref Ref) (bool, error) {
	if ref.Selector != nil {
		found, err := w.liveAny(ctx, ref)
		return found, IgnoreGone(err)
	}
	_, err := w.Live(ctx, ref.ID)
	return err == nil, IgnoreGone(err)
}

// IsGone reports whether an error of [Watcher.Mapping] or of the API server proves that an
// object does not exist: NotFound, or a kind that the API server does not serve
// ([watch.KindError]). A NotFound of an aggregated API server that is not a Kubernetes status
// proves nothing (IsUnexpectedServerError).
func IsGone(err error) bool {
	var kindErr *watch.KindError
	return errors.As(err, &kindErr) || (apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err))
}

// IgnoreGone returns nil if [IsGone] reports true for err, and err otherwise.
func IgnoreGone(err error) error {
	if IsGone(err) {
		return nil
	}
	return err
}
