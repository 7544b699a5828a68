package object

import "k8s.io/apimachinery/pkg/util/resourceversion"

// CompareVersions compares two resourceVersions of a kind. CompareVersions returns an error for
// a resourceVersion that is not a number.
func CompareVersions(a, b string) (int, error) { return resourceversion.CompareResourceVersion(a, b) }

// Older reports whether one resourceVersion of an object is older than another. By KEP-5504 the
// resourceVersions of a resource are growing numbers. If CompareVersions returns an error, such
// as for an empty version, Older returns false: a wait for the newer version might never end.
func Older(version, than string) bool {
	order, err := CompareVersions(version, than)
	return err == nil && order < 0
}
