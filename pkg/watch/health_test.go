package watch

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

var (
	widgets     = schema.GroupKind{Group: "g", Kind: "Widget"}
	errDown     = errors.New("down")
	errNoRight  = apierrors.NewForbidden(schema.GroupResource{Group: "g", Resource: "widgets"}, "", errors.New("no right"))
	errNoRight2 = apierrors.NewForbidden(schema.GroupResource{Group: "g", Resource: "widgets"}, "",
		errors.New("also no right"))
)

// partOf returns the part of one informer.
func partOf(gk schema.GroupKind) part { return part{gk, &source{}} }

// logged returns a Health and the messages that it logs.
func logged() (*Health, *[]string) {
	messages := &[]string{}
	return &Health{Log: funcr.New(func(_, args string) {
		*messages = append(*messages, args)
	}, funcr.Options{})}, messages
}

// TestRecord: a kind that begins to fail, fails in another way, or works again is logged, and nothing is logged twice.
func TestRecord(t *testing.T) {
	h, messages := logged()
	p := partOf(widgets)
	for i, step := range []struct {
		reason string
		err    error
		logs   string // empty if nothing is logged
	}{
		{"it works from the beginning", nil, ""},
		{"it fails", errDown, "can't be watched"},
		{"it still fails", errors.New("down"), ""},
		{"it fails in another way", errNoRight, "no right"},
		{"it works again", nil, "can be watched again"},
		{"it still works", nil, ""},
	} {
		*messages = nil
		h.record(p, step.err)
		if step.logs == "" && len(*messages) > 0 || step.logs != "" &&
			(len(*messages) != 1 || !strings.Contains((*messages)[0], step.logs)) {
			t.Errorf("step %d, %s: logged %q, want %q", i, step.reason, *messages, step.logs)
		}
		if failing := h.Err() != nil; failing != (step.err != nil) {
			t.Errorf("step %d, %s: the error is %v", i, step.reason, h.Err())
		}
	}
}

// TestRefusal: a kind is forbidden if one of its informers is, and the answer is always the same.
func TestRefusal(t *testing.T) {
	h := &Health{Log: logr.Discard()}
	told := 0
	h.OnRefusal(func(gk schema.GroupKind) {
		if gk == widgets {
			told++
		}
	})
	first, second := partOf(widgets), partOf(widgets)
	expect := func(reason, want string) {
		t.Helper()
		if got := h.Refusal(widgets); !strings.Contains(got, want) ||
			(got != "") != (want != "") || h.Forbidden(widgets) != (want != "") {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
	expect("nothing is known", "")
	h.record(first, errDown)
	expect("an API server that is down refuses nothing", "")
	h.record(first, errNoRight)
	expect("the right is missing", "no right")
	h.record(first, errDown)
	expect("an API server that is down gives no right", "no right")
	h.record(second, errNoRight2)
	for range 20 { // The order of a map is by chance.
		expect("two namespaces, the least text", "also no right")
	}
	if other := (schema.GroupKind{Group: "h", Kind: "Widget"}); h.Forbidden(other) {
		t.Error("a kind of the same name in another group is forbidden")
	}
	h.record(second, nil)
	expect("one namespace is left", ": no right")
	h.record(first, nil)
	expect("the rights were granted", "")
	if told != 4 {
		t.Errorf("%d changes were told, want one for each informer and answer", told)
	}
}

// TestHealthErr: the error names each informer that fails, in a fixed order.
func TestHealthErr(t *testing.T) {
	h := &Health{Log: logr.Discard()}
	gadgets := schema.GroupKind{Group: "a", Kind: "Gadget"}
	for _, gk := range []schema.GroupKind{widgets, gadgets} {
		h.record(partOf(gk), errDown)
	}
	h.record(partOf(widgets), nil)
	const want = "Gadget.a can't be watched: down; Widget.g can't be watched: down"
	for range 20 {
		if err := h.Err(); err == nil || err.Error() != want {
			t.Fatalf("error %v, want %s", err, want)
		}
	}
	h.Forget(widgets)
	if err := h.Err(); err == nil || strings.Contains(err.Error(), "Widget") {
		t.Errorf("after Widgets were forgotten: %v", err)
	}
	h.Forget(gadgets)
	if err := h.Err(); err != nil {
		t.Errorf("after all was forgotten: %v", err)
	}
}

func numbered(uid, version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(version)
	u.SetName(uid)
	return u
}

// TestReport: an unreadable object is reported once for each version, to the user and in the log.
func TestReport(t *testing.T) {
	h, messages := logged()
	var reports []string
	h.Report = func(obj runtime.Object, message string) {
		reports = append(reports, obj.(*unstructured.Unstructured).GetName()+": "+message)
	}
	p := partOf(widgets)
	for _, seen := range [][2]string{{"a", "1"}, {"a", "1"}, {"b", "1"}, {"a", "2"}, {"a", "2"}} {
		h.unreadable(p, numbered(seen[0], seen[1]), errDown)
	}
	const text = ": the operator can't read this object and leaves it as it is: down. " +
		"Correct the field, or delete the object"
	if diff := cmp.Diff([]string{"a" + text, "b" + text, "a" + text}, reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if len(*messages) != 3 || h.Unreadable(widgets) != 2 {
		t.Errorf("%d messages and %d objects, want 3 and 2", len(*messages), h.Unreadable(widgets))
	}
	h.readable(p, "a")
	h.unreadable(p, numbered("a", "2"), errDown)
	if len(reports) != 4 {
		t.Errorf("an object that was readable meanwhile is not reported again")
	}
}

// TestUnreadable: Health counts exactly the objects that are unreadable now, in all informers of a kind.
func TestUnreadable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &Health{Log: logr.Discard()}
		parts, want := []part{partOf(widgets), partOf(widgets)}, []map[types.UID]bool{{}, {}}
		uid := rapid.SampledFrom([]string{"a", "b", "c"})
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			i, id := rapid.IntRange(0, 1).Draw(t, "part"), uid.Draw(t, "uid")
			switch rapid.SampledFrom([]string{"unreadable", "readable", "list", "page"}).Draw(t, "event") {
			case "unreadable":
				h.unreadable(parts[i], numbered(id, "1"), errDown)
				want[i][types.UID(id)] = true
			case "readable":
				h.readable(parts[i], types.UID(id))
				delete(want[i], types.UID(id))
			case "list":
				h.retain(parts[i], map[types.UID]bool{types.UID(id): true}, false)
				maps.DeleteFunc(want[i], func(other types.UID, _ bool) bool { return other != types.UID(id) })
			case "page": // The other pages have the other objects.
				h.retain(parts[i], map[types.UID]bool{types.UID(id): true}, true)
			}
		}
		if got := h.Unreadable(widgets); got != len(want[0])+len(want[1]) {
			t.Fatalf("%d unreadable objects, want %v", got, want)
		}
	})
}

// TestHealthMetrics: the metrics have the kinds that fail, and the number of unreadable objects of each kind.
func TestHealthMetrics(t *testing.T) {
	h := &Health{Log: logr.Discard()}
	first, second := partOf(widgets), partOf(widgets)
	h.record(first, errDown)
	h.record(second, errDown)
	h.record(partOf(schema.GroupKind{Kind: "Pod"}), nil)
	for i, p := range []part{first, second, second} {
		h.unreadable(p, numbered(fmt.Sprint(i), "1"), errDown)
	}
	expect := func(values string) {
		t.Helper()
		text := ""
		for line := range strings.Lines(values) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			help := map[string]string{
				"kinship_watch_failing": "Kinds that can't be listed or watched now: " +
					"controllers that need them don't go on.",
				"kinship_watch_unreadable_objects": "Objects that the API server stores and the operator can't read.",
			}[name]
			text += fmt.Sprintf("# HELP %s %s\n# TYPE %s gauge\n%s{group=\"g\",kind=\"Widget\",pack=\"p\"} %s\n", name, help,
				name, name, value)
		}
		if err := testutil.CollectAndCompare(h.Metrics("p"), strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	}
	expect("kinship_watch_failing 1\nkinship_watch_unreadable_objects 3\n")
	h.record(first, nil)
	h.record(second, nil)
	h.readable(second, "2")
	expect("kinship_watch_unreadable_objects 2\n")
	h.Forget(widgets)
	expect("")
}
