package object

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unique"
)

// ShareMap keeps at most maxShared maps, each with a keyOf text of at most maxSharedKey
// bytes. After maxShared maps, ShareMap forgets all maps and begins again. The forgotten
// maps stay correct and cost memory.
const (
	maxShared    = 4096
	maxSharedKey = 1024
)

var shared struct {
	sync.Mutex

	maps map[string]map[string]string
}

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
