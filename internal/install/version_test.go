package install

import (
	"testing"
)

func TestRelease(t *testing.T) {
	for _, c := range []struct {
		older, newer string
		reason       string
	}{
		{"v1.2.0", "v1.10.0", "numbers are compared as numbers"},
		{"1.2.0", "v1.2.1", "the v may be left out"},
		{"v1.2.0-rc.1", "v1.2.0", "a candidate is before its release"},
		{"v1.2.0-14-g1a2b3c4-dirty", "v1.3.0", "a build after a release is before the next one"},
		{"v1.2.0+build.7", "v1.2.1", "what follows a plus sign takes no part"},
	} {
		older, newer := ReleaseOf(VersionMark(c.older)), ReleaseOf(VersionMark(c.newer))
		if older == nil || newer == nil || !older.LessThan(newer) {
			t.Errorf("%s is not before %s: %s", c.older, c.newer, c.reason)
		}
	}
	for _, same := range []string{"v1.2.0-14-g1a2b3c4", "v1.2.0-dirty", "v1.2.0+build.7"} {
		if v := ReleaseOf(VersionMark(same)); v == nil || v.LessThan(ReleaseOf("v1.2.0")) {
			t.Errorf("%s is before v1.2.0", same)
		}
	}
	for _, unknown := range []string{"", "dev", "devel", "test", "1a2b3c4", "1a2b3c4-dirty", "v1.2"} {
		if v := ReleaseOf(VersionMark(unknown)); v != nil {
			t.Errorf("%q is taken for release %s", unknown, v)
		}
	}
}
