package image

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
)

// Properties with which Glance reports an import. importTask is set from the answer to POST
// import until the end of the import (since Victoria). The lists of stores are set when an
// import begins (since Ussuri), and stay. A Glance with one store leaves both lists empty, even
// after a failure.
const (
	importTask   = "os_glance_import_task"
	importsTo    = "os_glance_importing_to_stores"
	failedImport = "os_glance_failed_import"
)

// importPhase is the state of an import by Glance.
type importPhase int

const (
	// notAsked means that no import was requested.
	notAsked importPhase = iota
	// underWay means that an import was requested, and Glance may still fill the image.
	underWay
	// failed means that an import was requested (POST /v2/images/ID/import), and the image is
	// queued again.
	failed
	// filled means that the image has a content, or another client is uploading one.
	filled
)

const (
	// glanceDownloads is the message of the condition Downloading while Glance imports.
	glanceDownloads = "OpenStack downloads the data"
	// notRequested is the message of the condition Downloading before the operator requests an import.
	notRequested = "The data is about to be requested"
	// unmarked is how long a Glance before Victoria may leave an image queued after POST
	// import, without a property that shows the import. Until then, the condition Downloading
	// shows that an import was requested.
	unmarked = time.Minute
	// staleTask is how long an import may wait for its turn. If the Glance process of an import
	// dies, importTask stays for two hours, and Glance refuses another import.
	staleTask = 30 * time.Minute
)

// phaseOf returns the state of the import for an Image. Only the status queued is ambiguous:
// Glance answers POST import with 202, and sets the status importing when the import begins, a
// moment or many minutes later.
func phaseOf(o object, r *kit.Resource, now time.Time) importPhase {
	if r.String("status") != queued {
		return filled
	}
	asked, recorded := askedAt(o, r)
	_, begun := r.Fields[importsTo]
	_, ended := r.Fields[failedImport]
	switch {
	case r.String(importTask) != "":
		if recorded && now.Sub(asked) > staleTask {
			return failed
		}
		return underWay
	case begun || ended:
		return failed
	case recorded && now.Sub(asked) < unmarked:
		return underWay
	case recorded:
		return failed
	default:
		return notAsked
	}
}

// askedAt returns when the import of this image was requested, according to the condition
// Downloading. A condition older than the image is about a former image that was deleted since.
func askedAt(o object, r *kit.Resource) (at time.Time, recorded bool) {
	c := meta.FindStatusCondition(o.Status.Conditions, downloadingType)
	if c == nil || c.Status != metav1.ConditionTrue || c.Message != glanceDownloads {
		return time.Time{}, false
	}
	at = c.LastTransitionTime.Time
	return at, !kit.Identify(r).Created.After(at)
}

// tellImport completes the status from the properties of the image: an operator that was killed
// after POST import has written neither status.downloadAttempts nor the condition Downloading. The
// first condition of an Image that waits for nothing is Downloading, as in the published operator.
func tellImport(o object, r *kit.Resource, now time.Time) {
	if o.Spec.Resource == nil || o.Spec.Resource.Content == nil || r.String(marker) != string(o.UID) {
		return // The image was not created for this object, so the operator does not fill it.
	}
	phase := phaseOf(o, r, now)
	if phase == notAsked {
		if meta.FindStatusCondition(o.Status.Conditions, downloadingType) == nil {
			// Neither True, nothing is downloaded yet, nor False, which users take for the end of the download.
			downloading(o, metav1.ConditionUnknown, condition.ReasonProgressing, notRequested)
		}
		return
	}
	if o.Status.DownloadAttempts == nil {
		o.Status.DownloadAttempts = new(int32(1))
	}
	if status := r.String("status"); status == "killed" || status == "deactivated" {
		downloading(o, metav1.ConditionFalse, condition.ReasonProgressing, "OpenStack says that the status is "+status)
	}
	if phase == underWay || r.String("status") == "importing" {
		downloading(o, metav1.ConditionTrue, condition.ReasonProgressing, glanceDownloads)
	}
}
