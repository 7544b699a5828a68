package dataflow

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestParseWritable: no path leads into a fixed field, or to an object with a fixed field.
func TestParseWritable(t *testing.T) {
	const is = " can't be set by a path"
	for text, want := range map[string]string{
		"spec":                                "",
		"spec.metadata.namespace":             "",
		"metadata.name":                       "", // Only values of other objects must not set the name.
		"metadata.labels.a":                   "",
		"metadata.labels":                     "",
		"metadata.annotations['a.example/b']": "",
		"statuses":                            "",
		"apiVersion":                          "apiVersion" + is,
		"kind":                                "kind" + is,
		"metadata":                            "metadata.namespace" + is,
		"metadata.namespace":                  "metadata.namespace" + is,
		"metadata.ownerReferences":            "metadata.ownerReferences" + is,
		"metadata.ownerReferences[0].uid":     "metadata.ownerReferences" + is,
		"metadata.uid":                        "metadata.uid" + is,
		"metadata.finalizers[0]":              "metadata.finalizers" + is,
		"metadata.managedFields":              "metadata.managedFields" + is,
		"metadata.annotations":                "metadata.annotations.",
		"status":                              "status" + is,
		"status.phase":                        "status" + is,
		"status[0]":                           "status" + is,
		"":                                    "path",
	} {
		_, err := ParseWritable("f", text)
		wrong, ok := errors.AsType[*relation.FieldError](err)
		if (want != "") != ok || (ok && !strings.HasPrefix(wrong.Error(), "f: ")) ||
			(ok && !strings.Contains(wrong.Error(), want)) {
			t.Errorf("path %q: %v, want %q", text, err, want)
		}
	}
}

// TestFixedStays: no path that ParseWritable accepts changes a fixed field, whatever the value is.
func TestFixedStays(t *testing.T) {
	step := rapid.SampledFrom([]string{
		"metadata", "namespace", "ownerReferences", "uid", "annotations", "labels",
		"['" + authorise.AuthorsAnnotation + "']", "spec", "status", "kind", "apiVersion", "a",
		"['metadata']", "[0]", "['kind']",
	})
	before := unstructuredOf(t, `{"apiVersion":"v1","kind":"K","metadata":{"name":"n","namespace":"ns","uid":"u",
		"ownerReferences":[{"uid":"o"}],"finalizers":["f"],"annotations":{"`+authorise.AuthorsAnnotation+`":"b"}},
			"spec":{"a":["x"]},"status":{"a":"b"}}`)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(step, 1, 4).Draw(t, "steps"), ".")
		text = strings.ReplaceAll(text, ".[", "[")
		value := rapid.SampledFrom([]any{"v", map[string]any{"namespace": "other"}, []any{"v"}, nil}).Draw(t, "value")
		after, err := Set(before.Object, "f", text, value, nil)
		if err != nil {
			if _, ok := errors.AsType[*relation.FieldError](err); !ok {
				t.Fatalf("path %q: %v is no FieldError", text, err)
			}
			return
		}
		for _, field := range fixed {
			want, _, _ := unstructured.NestedFieldNoCopy(before.Object, field...)
			got, _, err := unstructured.NestedFieldNoCopy(after, field...)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("path %q changed %s: error %v, (-want +got):\n%s", text, field, err, diff)
			}
		}
	})
}

// TestSet: the value is set in a copy.
func TestSet(t *testing.T) {
	before := unstructuredOf(t, `{"spec":{"list":[{"a":"x"}],"other":"stays"}}`)
	after, err := Set(before.Object, "f", "spec.list[0].a", "y", relation.NewBudget(100))
	if err != nil {
		t.Fatal(err)
	}
	want := unstructuredOf(t, `{"spec":{"list":[{"a":"y"}],"other":"stays"}}`).Object
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if value, _, _ := one(before.Object, "spec.list[0].a", "f"); value != "x" {
		t.Errorf("the caller's content has %v now", value)
	}
	for text, c := range map[string]struct {
		value  any
		budget int
		want   string
	}{
		"spec.list": {
			strings.Repeat("x", 50), 50, `f: path "spec.list": all paths together set more than 50 elements and bytes`,
		},
		"spec.other.a":     {"v", 100, "f: "},
		"spec.list[a]":     {"v", 100, "f: "},
		"metadata.uid":     {"v", 100, "f: metadata.uid can't be set by a path"},
		"spec.list[50000]": {"v", 100, "f: "},
	} {
		after, err := Set(before.Object, "f", text, c.value, relation.NewBudget(c.budget))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || after != nil {
			t.Errorf("path %s: error %v, want %q; content %v", text, err, c.want, after)
		}
	}
}

// TestOne: a path that leads to several fields, or to none, has no value.
func TestOne(t *testing.T) {
	content := unstructuredOf(t, `{"spec":{"one":["a"],"two":["a","b"],"null":null}}`).Object
	found := func(text string) any {
		value, ok, err := one(content, text, "f")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if !ok {
			return "not found"
		}
		return value
	}
	texts := []string{"spec.one[*]", "spec.two[*]", "spec.two[1]", "spec.two[2]", "spec.none", "spec.null"}
	got := make([]any, 0, len(texts))
	for _, text := range texts {
		got = append(got, found(text))
	}
	if want := []any{"a", "not found", "b", "not found", "not found", "not found"}; !slices.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}
