// Package warnings collects what the API server warns of. People see such a warning with every kubectl apply of a
// manifest.
package warnings

import (
	"slices"
	"strings"
	"sync"
)

// Collector is a rest.WarningHandler. The zero value is ready. Collector is safe for concurrent use.
type Collector struct {
	// Excused are parts of warnings that are left out. Set Excused before the first request.
	Excused []string

	mu    sync.Mutex
	texts []string
}

// warningCode is the only code of a warning that RFC 9111 leaves to servers.
const warningCode = 299

// HandleWarningHeader implements rest.WarningHandler.
func (c *Collector) HandleWarningHeader(code int, _, text string) {
	isExcused := func(part string) bool { return strings.Contains(text, part) }
	if code != warningCode || text == "" || slices.ContainsFunc(c.Excused, isExcused) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, text)
}

// Take returns the warnings since the last call.
func (c *Collector) Take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := c.texts
	c.texts = nil
	return texts
}
