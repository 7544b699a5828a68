package testenv

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// odd are values that some schema takes and some Go type does not.
var odd = []any{
	"1d", "1h1d", "-", "forever", strings.Repeat("999999h", 9), "1e999999999999999999999", "1e99999999999", "0x1p-2",
	"2030-01-01t00:00:00z", "2030-01-01 00:00:00Z", "2030-01-01", "2030-13-01T00:00:00Z", "", "ä", "9999999999",
	int64(-1), int64(0), int64(math.MaxUint16 + 1), int64(math.MaxInt32 + 1), int64(math.MinInt32 - 1),
	int64(math.MaxInt64), int64(math.MinInt64), 1e30, 1.5, true,
}

// CheckReadable fails the test if the API server takes, in the place of a value in the
// spec of an object, one that can't be read as what typed returns: one such object would
// stop the informer of its kind, and with it everything of that kind in all namespaces.
// Nothing is created.
func CheckReadable(tb testing.TB, obj *unstructured.Unstructured, typed func() client.Object) {
	tb.Helper()
	c := Client(tb, nil)
	check := func(field string, try *unstructured.Unstructured) bool {
		try.SetName("odd")
		if err := c.Create(tb.Context(), try, client.DryRunAll); err != nil {
			return false
		}
		text, err := json.Marshal(try)
		if err != nil {
			tb.Fatalf("testenv: %v", err)
		}
		if err := utiljson.Unmarshal(text, typed()); err != nil {
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
		check(field, try)
	})
}

// replaced calls f for each value within another, and each odd one in its place.
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
