package image

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
)

const (
	// contentField is the name of the content in the result of Differs.
	contentField = "content"
	// queued is the field status of an image in Glance (GET /v2/images/ID) without content.
	queued = "queued"
	// active is the field status of an image in Glance with content.
	active = "active"
	// downloadingType is the type of the condition for the download of the content.
	downloadingType = "Downloading"
	// byGlance is the import method with which Glance downloads a content itself.
	byGlance = "web-download"
)

// fill downloads the content of an image, and returns the image when it has the content. fill
// first requests one import by Glance (askGlance). If Glance can't import, or its import
// failed, the operator streams the content.
func (a actuator) fill(ctx context.Context, in external.Input[object], r *kit.Resource) (*kit.Resource, error) {
	id, content := r.String("id"), in.Object.Spec.Resource.Content
	if !a.pool.has(in.Object.UID) {
		if phaseOf(in.Object, r, time.Now()) == notAsked {
			now, asked, err := a.askGlance(ctx, in, r)
			if asked || err != nil {
				return now, err
			}
		}
		attempt(in.Object)
	}
	ended, err := a.pool.do(in.Object, hostOf(content.Download.URL), func(ctx context.Context) error {
		return a.stream(ctx, id, content.Download)
	})
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
		return r, nil // The image was read after the end of the stream.
	}
	return a.Get(ctx, in, id)
}

// hostOf returns the host of a URL, or "" if there is none.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return ""
}

// attempt increments status.downloadAttempts.
func attempt(o object) {
	o.Status.DownloadAttempts = new(ptr.Deref(o.Status.DownloadAttempts, 0) + 1)
}

// downloading sets the condition Downloading.
func downloading(o object, status metav1.ConditionStatus, reason, message string) {
	condition.Set(&o.Status.Conditions, metav1.Condition{
		Type: downloadingType, Status: status, Reason: reason, Message: kit.Cut(message, condition.MaxMessage),
		ObservedGeneration: o.Generation,
	})
}

// askGlance requests an import by Glance, if Glance offers the method web-download. Glance
// verifies no hash and may not decompress, so askGlance leaves out contents with download.hash
// or download.decompress.
func (a actuator) askGlance(
	ctx context.Context, in external.Input[object], r *kit.Resource,
) (now *kit.Resource, asked bool, err error) {
	from, id := in.Object.Spec.Resource.Content.Download, r.String("id")
	if from.Hash != nil || from.Decompress != nil {
		return r, false, nil
	}
	var offer struct {
		Methods struct {
			Value []string `json:"value"`
		} `json:"import-methods"`
	}
	err = kit.Explain(kit.Call(ctx, a.Client, http.MethodGet, a.Client.ServiceURL("info", "import"), nil, &offer))
	if external.IsMissing(err) || (err == nil && !slices.Contains(offer.Methods.Value, byGlance)) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	body := map[string]any{"method": map[string]string{"name": byGlance, "uri": from.URL}}
	refusal := kit.Explain(kit.Call(ctx, a.Client, http.MethodPost, a.URL(id, "import"), body, nil))
	if external.IsInvalid(refusal) { // The configuration of Glance forbids such URLs.
		return r, false, nil
	}
	if refusal == nil {
		attempt(in.Object)
		downloading(in.Object, metav1.ConditionTrue, condition.ReasonProgressing, glanceDownloads)
	}
	// If Glance refuses the import because another one is under way, an operator that was
	// stopped since has requested that import, and the properties of the image show it.
	if now, err = a.Get(ctx, in, id); err != nil {
		return r, true, err
	}
	if refusal != nil && phaseOf(in.Object, now, time.Now()) == notAsked {
		return now, true, refusal
	}
	return now, true, nil
}
