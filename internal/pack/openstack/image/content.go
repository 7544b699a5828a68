package image

import (
	"context"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
)

const (
	// contentField is what Differs calls the content.
	contentField = "content"
	// queued is the status of an image that has none.
	queued = "queued"
	// active is the status of one that serves.
	active = "active"
	// byGlance is the way in which Glance downloads a content by itself.
	byGlance = "web-download"
)

// fill has the content get into an image, and returns it once it is there.
func (a actuator) fill(ctx context.Context, in external.Input[object], r *kit.Resource) (*kit.Resource, error) {
	id, content := r.String("id"), in.Object.Spec.Resource.Content
	if !a.pool.Has(in.Object.UID) {
		attempts := int32(1)
		if before := in.Object.Status.DownloadAttempts; before != nil {
			attempts += *before
		}
		in.Object.Status.DownloadAttempts = &attempts
		asked, err := a.askGlance(ctx, r, content.Download)
		if err != nil {
			return r, err
		}
		if asked {
			downloading(in.Object, metav1.ConditionTrue, condition.ReasonProgressing, "OpenStack downloads the data")
			return a.Get(ctx, in, id)
		}
	}
	ended, err := a.pool.Do(in.Object, func(ctx context.Context) error { return a.stream(ctx, id, content.Download) })
	switch {
	case !ended:
		const message = "Data is streamed to OpenStack"
		downloading(in.Object, metav1.ConditionTrue, condition.ReasonProgressing, message)
		return r, &external.Error{Class: external.Underway, Message: message}
	case err != nil:
		downloading(in.Object, metav1.ConditionFalse, condition.ReasonTransientError, err.Error())
		return r, err
	}
	if r.String("status") == active {
		return r, nil // It was read after the end.
	}
	return a.Get(ctx, in, id)
}

// downloading writes the condition of that name.
func downloading(o object, status metav1.ConditionStatus, reason, message string) {
	condition.Set(&o.Status.Conditions, metav1.Condition{
		Type: "Downloading", Status: status, Reason: reason, Message: kit.Cut(message, condition.MaxMessage),
		ObservedGeneration: o.Generation,
	})
}

// askGlance has Glance download a content by itself, if it can and has not failed to
// yet. It verifies nothing, and whether it decompresses is not known.
func (a actuator) askGlance(
	ctx context.Context, r *kit.Resource, from openstackv1alpha1.ImageDownload,
) (asked bool, err error) {
	if from.Hash != nil || from.Decompress != nil || r.String("os_glance_failed_import") != "" {
		return false, nil
	}
	var offer struct {
		Methods struct {
			Value []string `json:"value"`
		} `json:"import-methods"`
	}
	err = kit.Explain(kit.Call(ctx, a.Client, http.MethodGet, a.Client.ServiceURL("info", "import"), nil, &offer))
	if external.IsMissing(err) || (err == nil && !slices.Contains(offer.Methods.Value, byGlance)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	body := map[string]any{"method": map[string]string{"name": byGlance, "uri": from.URL}}
	err = kit.Explain(kit.Call(ctx, a.Client, http.MethodPost, a.URL(r.String("id"), "import"), body, nil))
	if external.IsInvalid(err) { // It is set up to refuse such addresses.
		return false, nil
	}
	return err == nil, err
}
