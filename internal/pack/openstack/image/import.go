package image

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
)

// Properties by which Glance tells of an import. The task is there from the answer to
// POST import until the import has ended (since Victoria); the lists of stores are there
// once an import has begun (since Ussuri), and stay. A Glance with one store leaves both
// lists empty, also after a failure.
const (
	importTask   = "os_glance_import_task"
	importsTo    = "os_glance_importing_to_stores"
	failedImport = "os_glance_failed_import"
)

// importPhase is how far Glance is with an import of its own.
type importPhase int

const (
	// notAsked means that Glance was never asked to import the content.
	notAsked importPhase = iota
	// underWay means that Glance was asked, and may still fill the image.
	underWay
	// failed means that Glance was asked, and the image is queued again.
	failed
	// filled means that the image has a content, or is given one by somebody.
	filled
)

const (
	// glanceDownloads is the message of condition Downloading while Glance imports.
	glanceDownloads = "OpenStack downloads the data"
	// unmarked is how long a Glance before Victoria may leave an image queued, without any
	// mark, that it was asked to import. The operator's own record bridges that time.
	unmarked = time.Minute
	// staleTask is how long an import may wait for its turn. Glance keeps the task of an
	// import that died with its process for two hours, and refuses any other meanwhile.
	staleTask = 30 * time.Minute
)

// phaseOf returns how far Glance is with the image of an object. Only a queued image
// leaves a doubt: Glance answers POST import with 202, and sets the status to importing
// when the import has its turn, which may be a moment later or many.
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

// askedAt returns when Glance was asked to import the content of this image, as the
// status tells. A record that is older than the image is about another one, which
// somebody has deleted since.
func askedAt(o object, r *kit.Resource) (at time.Time, recorded bool) {
	c := meta.FindStatusCondition(o.Status.Conditions, downloadingType)
	if c == nil || c.Status != metav1.ConditionTrue || c.Message != glanceDownloads {
		return time.Time{}, false
	}
	at = c.LastTransitionTime.Time
	return at, !kit.Identify(r).Created.After(at)
}

// tellImport completes the status from what Glance tells: an operator that was killed
// after its request to Glance has recorded neither the attempt nor the condition.
func tellImport(o object, r *kit.Resource, now time.Time) {
	if o.Spec.Resource == nil || o.Spec.Resource.Content == nil || r.String(marker) != string(o.UID) {
		return // The content is not ours to get.
	}
	phase := phaseOf(o, r, now)
	if phase == notAsked {
		return
	}
	if o.Status.DownloadAttempts == nil {
		o.Status.DownloadAttempts = new(int32(1))
	}
	if phase == underWay || r.String("status") == "importing" {
		downloading(o, metav1.ConditionTrue, condition.ReasonProgressing, glanceDownloads)
	}
}
