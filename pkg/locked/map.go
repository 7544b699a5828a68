// Package locked has a map that several goroutines share.
//
// A [Map] is for records that are found by one key, such as the last own write of an object by its
// object.ID. Where several maps must change together, a struct with one mutex is clearer.
package locked

import (
	"iter"
	"maps"
	"sync"
)

// Map is a map that is safe for concurrent use. The zero value is empty and ready to use. In place
// of sync.Map, Map has types, and [Map.Update] makes a read and a write of one key a single step.
type Map[K comparable, V any] struct {
	mu  sync.RWMutex
	all map[K]V
}

// Load returns the value of a key, and whether the map has the key.
func (m *Map[K, V]) Load(key K) (value V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	value, ok = m.all[key]
	return value, ok
}

// Get returns the value of a key, or the zero value if the map lacks the key.
func (m *Map[K, V]) Get(key K) V {
	value, _ := m.Load(key)
	return value
}

// Store sets the value of a key.
func (m *Map[K, V]) Store(key K, value V) {
	m.Update(key, func(V, bool) (V, bool) { return value, true })
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

// Update replaces the value of a key by the result of change, and removes the key if keep is
// false. No other call sees the map meanwhile, so change MUST NOT block and MUST NOT call the map.
func (m *Map[K, V]) Update(key K, change func(value V, ok bool) (changed V, keep bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.all[key]
	value, keep := change(value, ok)
	if !keep {
		delete(m.all, key)
		return
	}
	if m.all == nil {
		m.all = map[K]V{}
	}
	m.all[key] = value
}

// DeleteFunc removes each key for which remove returns true, like maps.DeleteFunc. remove MUST NOT
// block and MUST NOT call the map.
func (m *Map[K, V]) DeleteFunc(remove func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.all, remove)
}

// All returns the keys and values, in no particular order. The body of the loop MUST NOT block and
// MUST NOT change the map: writers wait until the loop ends.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.mu.RLock()
		defer m.mu.RUnlock()
		maps.All(m.all)(yield)
	}
}

// Len returns the number of keys.
func (m *Map[K, V]) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.all)
}
