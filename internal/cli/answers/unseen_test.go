package answers

import (
	"bytes"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/pkg/lineage"
)

// TestWarn: what an answer could not see is one line on standard error, also for several causes. JSON has a field.
func TestWarn(t *testing.T) {
	skipped := make([]lineage.Skipped, 0, 10)
	skipped = append(skipped,
		lineage.Skipped{Resource: "secrets", Namespace: "shop", Reason: "forbidden"},
		lineage.Skipped{Resource: "pods", Namespace: "shop", Reason: "forbidden"},
		lineage.Skipped{Group: "metrics.k8s.io", Resource: "*", Reason: "no answer"},
	)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		skipped = append(skipped, lineage.Skipped{Resource: name, Reason: "forbidden"})
	}
	const want = "The answer may be incomplete. Not seen: secrets, pods in namespace shop (forbidden); " +
		"*.metrics.k8s.io in the cluster (no answer); " +
		"a, b, c, d, e, and 2 more (-o json has all) in the cluster (forbidden).\n"
	for output, want := range map[string]string{"text": want, "name": want, "json": ""} {
		var out, errOut bytes.Buffer
		q := &question{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, output: output}
		q.warn(skipped)
		q.warn(nil)
		if errOut.String() != want || out.Len() > 0 {
			t.Errorf("-o %s: %q, want %q", output, errOut.String(), want)
		}
	}
}
