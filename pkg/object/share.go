package object

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unique"
)

// maxShared bounds how many different maps are kept to be shared, and maxSharedKey how
// long the text of each may be. Where there are more, sharing begins anew: that costs
// memory, never correctness.
const (
	maxShared    = 4096
	maxSharedKey = 1024
)

var shared struct {
	sync.Mutex

	maps map[string]map[string]string
}

// Share returns the one copy of a string that all callers get. Objects that are
// kept in memory by the thousand have most of their strings in common.
func Share(s string) string { return unique.Make(s).Value() }

// ShareMap does the same for small maps that nobody changes, such as the labels
// of objects in a cache. It is safe for concurrent use.
func ShareMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	key := keyOf(m)
	if len(key) > maxSharedKey {
		return m
	}
	shared.Lock()
	defer shared.Unlock()
	if one, ok := shared.maps[key]; ok {
		return one
	}
	if shared.maps == nil || len(shared.maps) >= maxShared {
		shared.maps = map[string]map[string]string{}
	}
	shared.maps[key] = m
	return m
}

// keyOf returns a text that two maps have in common only if they are equal: a
// length goes before each part, so no content can imitate a border.
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
