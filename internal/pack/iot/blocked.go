package iot

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// blocked knows which connectors wait until somebody else's object is gone. No
// owner reference leads from the one to the other.
type blocked struct {
	mu sync.Mutex
	by map[types.NamespacedName][]object.ID
}

// set says what a connector waits for.
func (b *blocked) set(connector types.NamespacedName, ids []object.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(ids) == 0 {
		delete(b.by, connector)
		return
	}
	if b.by == nil {
		b.by = map[types.NamespacedName][]object.ID{}
	}
	b.by[connector] = ids
}

// waiting returns the connectors that wait for an object.
func (b *blocked) waiting(id object.ID) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var connectors []types.NamespacedName
	for connector, ids := range b.by {
		for _, other := range ids {
			if other == id {
				connectors = append(connectors, connector)
			}
		}
	}
	return connectors
}
