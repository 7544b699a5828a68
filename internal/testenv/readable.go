package testenv

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// odd are values that an OpenAPI schema may accept and a Go type such as metav1.Duration can't
// decode.
var odd = []any{
	"1d", "1h1d", "-", "forever", strings.Repeat("999999h", 9), "1e999999999999999999999", "1e99999999999", "0x1p-2",
	"2030-01-01t00:00:00z", "2030-01-01 00:00:00Z", "2030-01-01", "2030-13-01T00:00:00Z", "", "ä", "9999999999",
	int64(-1), int64(0), int64(math.MaxUint16 + 1), int64(math.MaxInt32 + 1), int64(math.MinInt32 - 1),
	int64(math.MaxInt64), int64(math.MinInt64), 1e30, 1.5, true,
}

// CheckReadable fails the test if the API server accepts an object that can't be read as
// the type which typed returns. It puts odd values in the place of each value in the spec
// of obj, and of each value in its status that is neither a text nor a boolean, such as
// lastSyncTime. The specs are dry runs; obj itself is created for the statuses.
func CheckReadable(tb testing.TB, obj *unstructured.Unstructured, typed func() client.Object) {
	tb.Helper()
	c := Client(tb, nil)
	check := func(field string, try *unstructured.Unstructured) bool {
		try.SetName("odd")
		if err := c.Create(tb.Context(), try, client.DryRunAll); err != nil {
			return false
		}
		if err := unreadable(tb, try.Object, typed()); err != nil {
			tb.Errorf("testenv: the API server takes a %s that nobody can read: %s: %v", obj.GetKind(), field, err)
		}
		return true
	}
	if !check("as it is", obj.DeepCopy()) {
		tb.Errorf("testenv: the API server does not take the %s as it is", obj.GetKind())
	}
	spec := obj.Object["spec"]
	replaced(spec, "spec", func(field string, altered any) {
		try := obj.DeepCopy()
		try.Object["spec"] = altered
		if unreadable(tb, try.Object, typed()) != nil {
			check(field, try)
		}
	})
	checkStatus(tb, obj, typed)
}

// unreadable returns the error with which an object can't be read as a type. An odd value that the type can
// read is not sent: the API server drops unknown fields and adds defaults, of which "as it is" has all.
func unreadable(tb testing.TB, obj any, typed client.Object) error {
	tb.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return utiljson.Unmarshal(text, typed)
}

// checkStatus puts odd values into the status of an object.
func checkStatus(tb testing.TB, obj *unstructured.Unstructured, typed func() client.Object) {
	tb.Helper()
	c := Client(tb, nil)
	live := obj.DeepCopy()
	live.SetName("")
	live.SetGenerateName("odd-status-")
	if err := c.Create(tb.Context(), live); err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	defer remove(tb, c, live)
	status, ok := reflect.TypeOf(typed()).Elem().FieldByName("Status")
	if !ok {
		tb.Fatalf("testenv: %s has no status", obj.GetKind())
	}
	for path, value := range oddStatuses(status.Type) {
		whole := map[string]any{"status": value}
		if unreadable(tb, whole, typed()) == nil {
			continue
		}
		text, err := json.Marshal(whole)
		if err != nil {
			tb.Fatalf("testenv: %v", err)
		}
		try := live.DeepCopy()
		patch := client.RawPatch(types.MergePatchType, text)
		if c.Status().Patch(tb.Context(), try, patch, client.DryRunAll) != nil {
			continue
		}
		if err := unreadable(tb, try.Object, typed()); err != nil {
			tb.Errorf("testenv: the API server takes a %s that nobody can read: status%s: %v", obj.GetKind(), path, err)
		}
	}
}

// remove deletes an object and waits until a GET answers NotFound, so that no other test lists the
// object.
func remove(tb testing.TB, c client.Client, obj client.Object) {
	tb.Helper()
	if err := c.Delete(tb.Context(), obj); err != nil {
		tb.Errorf("testenv: %v", err)
	}
	Eventually(tb, func() error {
		err := c.Get(tb.Context(), client.ObjectKeyFromObject(obj), obj)
		if err == nil {
			return fmt.Errorf("%s %s is still there", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName())
		}
		return client.IgnoreNotFound(err)
	})
}

// oddStatuses returns values of a type, each with one odd part, and the path of that part.
// Texts and booleans are left alone, since Go reads every text and boolean that the API server
// accepts.
func oddStatuses(t reflect.Type) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch {
		case t.Kind() == reflect.Pointer:
			oddStatuses(t.Elem())(yield)
		case t.Kind() == reflect.String || t.Kind() == reflect.Bool:
		case t.Kind() == reflect.Slice:
			for path, value := range oddStatuses(t.Elem()) {
				if !yield("[0]"+path, []any{value}) {
					return
				}
			}
		case t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
			for _, o := range odd {
				if !yield(fmt.Sprintf(": %v", o), o) {
					return
				}
			}
		default:
			oddFields(t, yield)
		}
	}
}

// oddFields calls yield with objects of a type, each with one odd field. Required fields of
// conditions are filled in.
func oddFields(t reflect.Type, yield func(string, any) bool) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		for path, value := range oddStatuses(field.Type) {
			whole := map[string]any{}
			if t == reflect.TypeFor[metav1.Condition]() {
				whole = map[string]any{
					"type": "T", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z",
				}
			}
			if name == "" && strings.Contains(options, "inline") {
				if !yield(path, value) {
					return
				}
				continue
			}
			whole[name] = value
			if name != "-" && !yield("."+name+path, whole) {
				return
			}
		}
	}
}

// replaced calls f for each value within a spec, with each value of odd in its place. field is the
// path, such as spec.resource.name.
func replaced(value any, field string, f func(string, any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			replaced(inner, field+"."+key, func(field string, altered any) {
				whole := maps.Clone(v)
				whole[key] = altered
				f(field, whole)
			})
		}
	case []any:
		for i, inner := range v {
			replaced(inner, fmt.Sprintf("%s[%d]", field, i), func(field string, altered any) {
				whole := append([]any{}, v...)
				whole[i] = altered
				f(field, whole)
			})
		}
	default:
		for _, o := range odd {
			f(fmt.Sprintf("%s: %v", field, o), o)
		}
	}
}
