package object_test

import (
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestShareMap: the result equals the argument, whatever was shared before, and equal arguments
// give the same map.
func TestShareMap(t *testing.T) {
	labels := rapid.MapOfN(rapid.StringN(0, 3, -1), rapid.StringN(0, 3, -1), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		m := labels.Draw(t, "labels")
		one := object.ShareMap(maps.Clone(m))
		if !maps.Equal(one, m) {
			t.Fatalf("%v came back as %v", m, one)
		}
		other := object.ShareMap(maps.Clone(m))
		if len(m) == 0 {
			return
		}
		other["kinship"] = "shared"
		defer delete(other, "kinship")
		if one["kinship"] != "shared" {
			t.Fatalf("%v has two copies", m)
		}
	})
}

// TestShareMapLong: a long string is not kept, and its length can't be confused with a
// separator. As a rune, each of these lengths would be the same.
func TestShareMapLong(t *testing.T) {
	const surrogate = 0xD800
	long := strings.Repeat("x", surrogate)
	other := map[string]string{"d": long + "\x01e\x01f"}
	object.ShareMap(map[string]string{"d": long, "e": "f"})
	if got := object.ShareMap(other); !maps.Equal(got, other) {
		t.Errorf("a map of one value came back with %d", len(got))
	}
	a, b := object.ShareMap(map[string]string{"long": long}), object.ShareMap(map[string]string{"long": long})
	a["kinship"] = "own"
	if b["kinship"] != "" {
		t.Error("a long map is kept for good")
	}
}

// TestShareMapIsBounded: more maps than are kept are still right.
func TestShareMapIsBounded(t *testing.T) {
	for i := range 10_000 {
		m := map[string]string{"n": strconv.Itoa(i)}
		if got := object.ShareMap(m)["n"]; got != strconv.Itoa(i) {
			t.Fatalf("map %d came back as %s", i, got)
		}
	}
}

func TestShare(t *testing.T) {
	a, b := object.Share(strconv.Itoa(123456)), object.Share(strconv.Itoa(123456))
	if a != "123456" || unsafe.StringData(a) != unsafe.StringData(b) {
		t.Errorf("%q and %q are two copies", a, b)
	}
}

// TestShareMapConcurrently: informers share labels at the same time. Each gets a map that equals its own.
func TestShareMapConcurrently(t *testing.T) {
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for i := range 500 {
				n := strconv.Itoa(i % 50)
				if got := object.ShareMap(map[string]string{"concurrently": n}); len(got) != 1 || got["concurrently"] != n {
					t.Errorf("map %s came back as %v", n, got)
				}
			}
		})
	}
	running.Wait()
	a := object.ShareMap(map[string]string{"concurrently": "0"})
	b := object.ShareMap(map[string]string{"concurrently": "0"})
	if reflect.ValueOf(a).Pointer() != reflect.ValueOf(b).Pointer() {
		t.Error("two copies are kept")
	}
	if object.ShareMap(map[string]string{}) != nil || object.ShareMap(nil) != nil {
		t.Error("an empty map takes memory")
	}
}
