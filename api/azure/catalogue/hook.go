package catalogue

import (
	"strings"
	"sync"
)

// Hook changes the conversion of one ARM type, for what no table can say. A Hook runs in the
// operator and in the methods of the typed packages.
type Hook struct {
	// ToARM may change the body that was made from the spec.
	ToARM func(spec, body map[string]any) error
	// FromARM may change the spec that was made from the body.
	FromARM func(spec, body map[string]any) error
}

var hooks = struct {
	sync.RWMutex
	byType map[string][]Hook // by lower-case ARM type
}{byType: map[string][]Hook{}}

// RegisterHook adds a Hook for an ARM type. Hooks of one type run in the order of registration.
func RegisterHook(armType string, h Hook) {
	hooks.Lock()
	defer hooks.Unlock()
	lower := strings.ToLower(armType)
	hooks.byType[lower] = append(hooks.byType[lower], h)
}

func runHooks(armType string, run func(Hook) error) error {
	hooks.RLock()
	defer hooks.RUnlock()
	for _, h := range hooks.byType[strings.ToLower(armType)] {
		if err := run(h); err != nil {
			return err
		}
	}
	return nil
}

func call(change func(spec, body map[string]any) error, spec, body map[string]any) error {
	if change == nil {
		return nil
	}
	return change(spec, body)
}
