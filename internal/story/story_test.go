package story

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/examples"
)

func seen(quote string, err error) func(context.Context, *Stage) (string, error) {
	return func(context.Context, *Stage) (string, error) { return quote, err }
}

var times = regexp.MustCompile(` +\d+ ms`)

// TestTell shows the output for a reader: a failed step has the expected and the seen text, and
// ends only its own story.
func TestTell(t *testing.T) {
	var out strings.Builder
	err := Tell(t.Context(), &out, &Stage{}, []Story{
		{Title: "One goes wrong.", Steps: []Step{
			{"be refused", seen("Conflict", nil)},
			{"be gone", seen("", &Mismatch{Expected: "it is gone", Seen: "it is there"})},
			{"never told", seen("", nil)},
		}},
		{Title: "One breaks.", Steps: []Step{{"create", seen("", errors.New("no connection"))}}},
		{Title: "One goes right.", Steps: []Step{{"create", seen("", nil)}}},
	})
	if got, want := err.Error(), "2 of 3 stories did not go as told"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	want := `
One goes wrong.
  ✓ -  be refused
               Conflict
  ✗ -  be gone
               expected: it is gone
               saw:      it is there

One breaks.
  ✗ -  create
               failed:   no connection

One goes right.
  ✓ -  create
`
	if diff := gocmp.Diff(want, times.ReplaceAllString(out.String(), " -")); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestTellInterrupted: Ctrl-C is no failure, and nothing is reported.
func TestTellInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out strings.Builder
	err := Tell(ctx, &out, &Stage{}, []Story{
		{Title: "Interrupted.", Steps: []Step{{"wait", func(context.Context, *Stage) (string, error) {
			cancel()
			return "", errors.New("it will not be seen")
		}}}},
		{Title: "Never told."},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if diff := gocmp.Diff("\nInterrupted.\n", out.String()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestMalformedConditions: conditions that can't be read are reported, and not taken for
// missing.
func TestMalformedConditions(t *testing.T) {
	for _, conditions := range []any{"none", []any{"Ready"}} {
		live := &unstructured.Unstructured{Object: map[string]any{
			"kind": "Port", "metadata": map[string]any{"name": "p"}, "status": map[string]any{"conditions": conditions},
		}}
		for name, said := range map[string]string{
			"condition": condition(live, "Ready"), "message": message(live, "Ready"),
		} {
			if !strings.Contains(said, "read conditions of Port/p: ") {
				t.Errorf("%v: %s says %q", conditions, name, said)
			}
		}
	}
}

// TestUsage shows that the stories find their objects in the examples.
func TestUsage(t *testing.T) {
	stories, err := Usage()
	if err != nil {
		t.Fatal(err)
	}
	if len(stories) != 3 {
		t.Errorf("%d stories, want 3", len(stories))
	}
}

// TestAzureBesideExamples: what the story leaves has other ids in Azure than the examples, which a user may apply in
// the same subscription.
func TestAzureBesideExamples(t *testing.T) {
	p, err := newAzureProps()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := Read(examples.Azure, "azure/group.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.group) != len(theirs) {
		t.Fatalf("%d objects of the story, want %d", len(p.group), len(theirs))
	}
	nameOf := func(u *unstructured.Unstructured) string {
		name, _, _ := unstructured.NestedString(u.Object, "spec", catalogue.AzureNameField)
		return cmp.Or(name, u.GetName())
	}
	for i, group := range p.group {
		if nameOf(group) == nameOf(theirs[i]) {
			t.Errorf("%s of the story is also that of the examples", nameOf(group))
		}
	}
}

// TestWithin ends a step that the API server does not answer, and names the limit.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := within(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if err == nil || err.Error() != "not done after 2m0s" {
			t.Errorf("a step that hangs: %v", err)
		}
		if t.Context().Err() != nil {
			t.Error("a step that hangs counts as an interrupt by the user")
		}
	})
}
