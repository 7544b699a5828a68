package object

import "k8s.io/apimachinery/pkg/util/resourceversion"

// CompareVersions compares two resourceVersions of a kind. The error is that of a version that is
// no number.
func CompareVersions(a, b string) (int, error) { return resourceversion.CompareResourceVersion(a, b) }

// Older reports whether one resourceVersion of an object is older than another (KEP-5504:
// resourceVersions of one resource are numbers that grow). Versions that can't be compared, such
// as an empty one, are not older: to wait for the newer one could last for ever.
func Older(version, than string) bool {
	order, err := CompareVersions(version, than)
	return err == nil && order < 0
}
