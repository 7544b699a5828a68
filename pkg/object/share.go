package object

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unique"

	"k8s.io/utils/lru"
)

// ShareMap keeps at most maxShared maps, each with a keyOf text of at most maxSharedKey
// bytes. Beyond maxShared, ShareMap forgets the map that was not asked for the longest time. A
// forgotten map stays correct and costs memory.
const (
	maxShared    = 4096
	maxSharedKey = 1024
)

// shared has the maps by the text of keyOf.
var shared = lru.New(maxShared)

// Share returns one copy of a string for all callers. Thousands of cached objects have most
// of their strings in common, such as namespaces and label keys.
func Share(s string) string { return unique.Make(s).Value() }

// ShareMap returns one copy of a small map for all callers, such as the labels of cached
// objects. Callers MUST NOT change the map. ShareMap is safe for concurrent use.
func ShareMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	key := keyOf(m)
	if len(key) > maxSharedKey {
		return m
	}
	if one, ok := shared.Get(key); ok {
		return one.(map[string]string)
	}
	shared.Add(key, m) // Two goroutines with the same new map may both add: then one copy is forgotten.
	return m
}

// keyOf returns the same text for two maps only if the maps are equal. Each part begins
// with its length, as in "4:team4:blue", so no content can imitate a border.
func keyOf(m map[string]string) string {
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		for _, part := range []string{k, m[k]} {
			key.WriteString(strconv.Itoa(len(part)))
			key.WriteByte(':')
			key.WriteString(part)
		}
	}
	return key.String()
}
