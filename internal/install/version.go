package install

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
)

// VersionLabel is the label of a CustomResourceDefinition with the release that has installed the
// CustomResourceDefinition.
const VersionLabel = "app.kubernetes.io/version"

// sinceRelease matches the suffix that `git describe` adds to the last release, as in
// v1.2.0-14-g1a2b3c4-dirty. As a semantic version, v1.2.0-14-g1a2b3c4 would precede v1.2.0.
var sinceRelease = regexp.MustCompile(`-\d+-g[0-9a-f]+(-dirty)?$|-dirty$`)

// VersionMark returns a version in the form of a label value: v1.2.0_build for v1.2.0+build.
func VersionMark(v string) string {
	return strings.ReplaceAll(v, "+", "_")
}

// ReleaseOf returns the version.Version of a build, or nil for a build without a comparable version,
// such as "dev" or a bare commit.
func ReleaseOf(v string) *version.Version {
	v, _, _ = strings.Cut(v, "_") // A plus sign can't stand in a label, and build metadata takes no part in the order.
	parsed, err := version.ParseSemantic(sinceRelease.ReplaceAllString(v, ""))
	if err != nil {
		return nil
	}
	return parsed
}

// checkUpgrade refuses to replace CustomResourceDefinitions of a newer release by older ones. From
// each object that is written afterwards, the API server would drop the fields that only the newer
// CustomResourceDefinition has.
func checkUpgrade(ctx context.Context, o options.Options, c client.Client, definitions []client.Object) error {
	own := ReleaseOf(VersionMark(o.Version))
	if own == nil || o.Downgrade {
		return nil
	}
	for _, d := range definitions {
		live, err := Read(ctx, c, d)
		if err != nil {
			return err
		}
		if live == nil || live.GetLabels()[options.PartOfLabel] != options.PartOf {
			continue // Another project's version says nothing about ours.
		}
		theirs := live.GetLabels()[VersionLabel]
		if installed := ReleaseOf(theirs); installed != nil && own.LessThan(installed) {
			return fmt.Errorf("%s was installed by release %s, and this is release %s, which is older; "+
				"run release %s or a newer one, or write the older definitions with --install-downgrade",
				d.GetName(), theirs, o.Version, theirs)
		}
	}
	return nil
}
