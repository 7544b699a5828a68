package certificate

import (
	"context"
	"crypto/subtle"
	"slices"
	"sync"
	"time"
)

// Standing says what a path is to a [Manager].
type Standing int

const (
	// Unknown says that the path is not, and was not lately, the path in the webhook configurations.
	Unknown Standing = iota
	// Former says that the path was replaced, and the API server may still call it for a moment.
	Former
	// Present says that the path is [Bundle.Path].
	Present
)

// maxFormer bounds the former paths. The API server calls one path at a time, and at most another one for a moment.
const maxFormer = 4

// rereadPause is the least time between two reads of the Secret that unknown paths cause.
const rereadPause = time.Second

// paths are the secret paths that the API server may call, in memory. All methods may be called concurrently.
type paths struct {
	mu      sync.Mutex
	present string
	former  []former
	// suspected is a path that an error of the API server may have shown.
	suspected string
	replaced  time.Time // when this process last replaced a path
	reread    time.Time // when an unknown path last made the Manager read the Secret
}

// former is a path that was replaced. Until is zero as long as the webhook configurations may have the path.
type former struct {
	path  string
	until time.Time
}

// suspect records that a path may be known, and reports whether that is news.
func (p *paths) suspect(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path == "" || p.suspected == path || p.present != "" && p.present != path {
		return false
	}
	p.suspected = path
	return true
}

// wish returns the suspected path, and the moment before which this process does not replace a path again.
func (p *paths) wish(pause time.Duration) (suspected string, earliest time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replaced.IsZero() {
		return p.suspected, time.Time{}
	}
	return p.suspected, p.replaced.Add(pause)
}

// replace records that this process is about to replace a path.
func (p *paths) replace(path string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = now
	p.leave(path)
}

// set records the path of the Secret. The path of before becomes a former path.
func (p *paths) set(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.present != path {
		p.leave(p.present)
	}
	p.present = path
}

func (p *paths) leave(path string) {
	known := slices.ContainsFunc(p.former, func(f former) bool { return f.path == path })
	if path == "" || known {
		return
	}
	p.former = append(p.former, former{path: path})
	if extra := len(p.former) - maxFormer; extra > 0 {
		p.former = slices.Delete(p.former, 0, extra)
	}
}

// published records that the webhook configurations have the present path.
func (p *paths) published(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.former {
		if p.former[i].until.IsZero() {
			p.former[i].until = now.Add(pathGrace)
		}
	}
}

func (p *paths) standing(path string, now time.Time) Standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.former = slices.DeleteFunc(p.former, func(f former) bool { return !f.until.IsZero() && now.After(f.until) })
	switch {
	case path == "":
		return Unknown
	case same(path, p.present):
		return Present
	case slices.ContainsFunc(p.former, func(f former) bool { return same(path, f.path) }):
		return Former
	default:
		return Unknown
	}
}

// same compares two paths in a time that does not tell where they differ.
func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// mayReread reports whether an unknown path may make the Manager read the Secret now.
func (p *paths) mayReread(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.reread) < rereadPause {
		return false
	}
	p.reread = now
	return true
}

// Suspect says that a client other than the API server may know a path: a call was given up, and the API server
// has printed the path to the user. [Manager.Start] replaces the path in the Secret and in the webhook
// configurations. Suspect does nothing if the path is already a former one. Suspect may be called concurrently.
func (m *Manager) Suspect(path string) {
	if m.paths.suspect(path) {
		m.wakeUp()
	}
}

func (m *Manager) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default: // Start is awake already.
	}
}

// Check returns the [Standing] of a path. For an unknown path, Check reads the Secret at most once a second: another
// replica may have replaced the path in this moment. Check may be called concurrently.
func (m *Manager) Check(ctx context.Context, path string) (Standing, error) {
	standing := m.paths.standing(path, m.clock.Now())
	if standing != Unknown || path == "" || !m.paths.mayReread(m.clock.Now()) {
		return standing, nil
	}
	_, s, err := m.read(ctx)
	if err != nil || s == nil {
		return Unknown, err
	}
	if same(path, s.path) {
		m.wakeUp() // Start loads the Secret.
		return Present, nil
	}
	return Unknown, nil
}
