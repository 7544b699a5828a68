package authorise_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinship-dev/kinship/pkg/authorise"
)

// TestRecord: who changes spec, labels or annotations becomes one more author, whatever the annotation of the authors
// says.
func TestRecord(t *testing.T) {
	const (
		path      = "/metadata/annotations"
		key       = path + "/kinship.dev~1authors"
		noted     = `{"metadata":{"annotations":{"kinship.dev/authors":"[{\"username\":\"a\"}]"}},"spec":{"n":1}}`
		bare      = `{"metadata":{},"spec":{"n":1}}`
		other     = `{"metadata":{"annotations":{"x":"y"}},"spec":{"n":2}}`
		annotated = `{"metadata":{"annotations":{"x":"y"}},"spec":{"n":1}}`
		labelled  = `{"metadata":{"labels":{"x":"y"}},"spec":{"n":1}}`
		applied   = `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"spec":{"n":1}}`
		// forged names the administrator.
		forged = `{"metadata":{"annotations":{"kinship.dev/authors":"[{\"username\":\"admin\"}]"}},"spec":{"n":1}}`
	)
	list := func(users ...string) string {
		text := ""
		for _, user := range users {
			text += `,{\"username\":\"` + user + `\"}`
		}
		return `"[` + text[1:] + `]"`
	}
	one := func(users ...string) string {
		return `[{"op":"add","path":"` + key + `","value":` + list(users...) + `}]`
	}
	both := func(users ...string) string {
		return `[{"op":"add","path":"` + path + `","value":{"kinship.dev/authors":` + list(users...) + `}}]`
	}
	const (
		taken    = `{"metadata":{"annotations":{"kinship.dev/take-authorship":"b"}},"spec":{"n":1}}`
		rendered = `{"metadata":{"annotations":{"kinship.dev/rendered-authors":"[{\"username\":\"a\"}]"}},"spec":{"n":1}}`
		take     = path + "/kinship.dev~1take-authorship"
	)
	onlyB := `[{"op":"add","path":"` + key + `","value":` + list("b") + `},{"op":"remove","path":"` + take + `"}]`
	for name, test := range map[string]struct{ user, old, now, want string }{
		"created":                {"a", "", bare, both("a")},
		"created with forgery":   {"b", "", forged, one("b")},
		"same spec":              {"b", noted, noted, `null`},
		"same spec with forgery": {"b", noted, forged, one("a")},
		"same spec, no record":   {"b", bare, forged, `[{"op":"remove","path":"` + key + `"}]`},
		"other spec":             {"b", noted, other, one("a", "b")},
		"other spec, no record":  {"b", bare, other, `null`},
		"annotation removed":     {"b", noted, bare, both("a")},
		"other annotation":       {"b", noted, annotated, one("a", "b")},
		"other label":            {"b", noted, labelled, both("a", "b")},
		"again by the author":    {"a", noted, other, one("a")},
		"taken over":             {"b", noted, taken, onlyB},
		"taken over, no record":  {"b", bare, taken, onlyB},
		"made by the operator":   {"a", rendered, rendered, `null`},
		"rendered is forged": {
			"b", bare, rendered, `[{"op":"remove","path":"` + path + `/kinship.dev~1rendered-authors"}]`,
		},
		"record of kubectl": {"b", noted, applied, one("a")},
	} {
		t.Run(name, func(t *testing.T) {
			req := &admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: test.user},
				Object: runtime.RawExtension{Raw: []byte(test.now)},
			}
			if test.old != "" {
				req.Operation, req.OldObject.Raw = admissionv1.Update, []byte(test.old)
			}
			patches, err := authorise.Record(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(patches)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := authorise.Record(&admissionv1.AdmissionRequest{}); err == nil {
		t.Error("an object that can't be read is taken")
	}
	if _, err := authorise.Record(&admissionv1.AdmissionRequest{
		UserInfo: authenticationv1.UserInfo{Username: "a"}, Object: runtime.RawExtension{Raw: []byte(taken)},
	}); err == nil || !strings.Contains(err.Error(), `is "b"`) {
		t.Errorf("a user takes over an object in the name of another: %v", err)
	}
}

// part is one label, annotation or field of a spec, with the users who are responsible for its value.
type part struct {
	value   string
	writers []string
}

// TestAllWritersAreAuthors draws sequences of writers of spec, labels, annotations, status, finalizers and owner
// references, who also send forged records. At every moment each user who wrote a part that is in effect is an author.
func TestAllWritersAreAuthors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := rapid.SampledFrom([]string{"tenant", "admin", "labeller", "ci"})
		parts := map[string]*part{}
		object, annotations := map[string]any{}, map[string]string(nil)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			user := users.Draw(t, "user")
			sent := map[string]string{}
			maps.Copy(sent, annotations)
			drawChanges(t, parts, user)
			if rapid.Bool().Draw(t, "forges") {
				record := rapid.SampledFrom(authorise.Annotations[:2]).Draw(t, "record")
				sent[record] = `[{"username":"` + users.Draw(t, "victim") + `"}]`
			}
			if rapid.IntRange(0, 4).Draw(t, "takes") == 0 {
				sent[authorise.TakeAnnotation] = user
				for _, p := range parts {
					p.writers = []string{user}
				}
			}
			now := build(parts, sent, step)
			req := &admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: user}, Object: raw(t, now),
			}
			if step > 0 {
				req.Operation, req.OldObject = admissionv1.Update, raw(t, object)
			}
			patches, err := authorise.Record(req)
			if err != nil {
				t.Fatal(err)
			}
			annotations = apply(t, sent, patches)
			object = build(parts, annotations, step)
			checkWriters(t, parts, annotations)
			annotations = onlyRecords(annotations)
		}
	})
}

// drawChanges changes some parts in the name of a user.
func drawChanges(t *rapid.T, parts map[string]*part, user string) {
	fields := rapid.SampledFrom([]string{"spec", "labels", "annotations"})
	changes := map[string]string{}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		name := fields.Draw(t, "field") + "/" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
		changes[name] = rapid.SampledFrom([]string{"1", "2", ""}).Draw(t, "value")
	}
	for name, value := range changes {
		if old := parts[name]; old == nil && value != "" || old != nil && old.value != value {
			parts[name] = &part{value, []string{user}} // A removal is a part in effect, too.
		}
	}
}

// checkWriters checks that the writers of all parts are authors.
func checkWriters(t *rapid.T, parts map[string]*part, annotations map[string]string) {
	authors := map[string]bool{}
	for _, a := range authorise.AuthorsOf(&metav1.ObjectMeta{Annotations: annotations}) {
		authors[a.Username] = true
	}
	for name, p := range parts {
		for _, w := range p.writers {
			if !authors[w] {
				t.Fatalf("%s wrote %s, and the authors are %v", w, name, annotations[authorise.AuthorsAnnotation])
			}
		}
	}
}

// build returns an object. The number of the step is in parts that make nobody an author.
func build(parts map[string]*part, records map[string]string, step int) map[string]any {
	spec, labels, annotations := map[string]any{}, map[string]any{}, map[string]any{}
	for name, p := range parts {
		field, key, _ := strings.Cut(name, "/")
		if p.value != "" {
			map[string]map[string]any{"spec": spec, "labels": labels, "annotations": annotations}[field][key] = p.value
		}
	}
	for key, value := range records {
		annotations[key] = value
	}
	number := strconv.Itoa(step)
	return map[string]any{"spec": spec, "status": map[string]any{"step": number}, "metadata": map[string]any{
		"labels": labels, "annotations": annotations, "finalizers": []any{"example.com/" + number},
		"ownerReferences": []any{map[string]any{"kind": "A", "name": number, "uid": number}},
	}}
}

func raw(t *rapid.T, object map[string]any) runtime.RawExtension {
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

// apply returns annotations after patches of single annotations.
func apply(t *rapid.T, annotations map[string]string, patches []webhook.JSONPatchOp) map[string]string {
	for _, p := range patches {
		name := strings.ReplaceAll(strings.TrimPrefix(p.Path, "/metadata/annotations/"), "~1", "/")
		switch value, isText := p.Value.(string); {
		case p.Operation == "remove":
			delete(annotations, name)
		case isText:
			annotations[name] = value
		default:
			t.Fatalf("unexpected patch %v", p)
		}
	}
	return annotations
}

func onlyRecords(annotations map[string]string) map[string]string {
	return maps.Collect(func(yield func(string, string) bool) {
		for _, name := range authorise.Annotations {
			if value, ok := annotations[name]; ok && !yield(name, value) {
				return
			}
		}
	})
}

// TestFullOfAuthors: the 17th author is refused, with the way out.
func TestFullOfAuthors(t *testing.T) {
	all := make([]authorise.Author, 0, 17)
	for i := range 17 {
		all = append(all, authorise.Author{Username: fmt.Sprint("user", i)})
	}
	if _, err := authorise.FormatAuthors(all[:16]...); err != nil {
		t.Error(err)
	}
	if _, err := authorise.FormatAuthors(all...); err == nil || !strings.Contains(err.Error(), authorise.TakeAnnotation) {
		t.Errorf("17 authors: %v", err)
	}
}
