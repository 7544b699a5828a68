package certificate

import (
	"crypto/x509"
	"slices"
	"time"
)

// Default durations. Tests use shorter durations.
const (
	caValidity       = 10 * 365 * 24 * time.Hour
	leafValidity     = 90 * 24 * time.Hour
	propagationDelay = 30 * time.Second
	pathPause        = 10 * time.Second
	// pathGrace is how long a former path is accepted after the webhook configurations have the new path: an API
	// server follows a configuration after some milliseconds, and may have sent a request before.
	pathGrace = 2 * time.Second
)

// policy is everything besides the Secret and the clock that a decision depends on.
type policy struct {
	// names are the DNS names and IP addresses that the serving certificate MUST have.
	names []string
	// caValidity MUST be at least three times leafValidity.
	caValidity, leafValidity time.Duration
	// propagationDelay, retireAfter and pathPause are [Options.PropagationDelay],
	// [Options.RetireAfter] and [Options.PathPause].
	propagationDelay, retireAfter, pathPause time.Duration
}

// action is a change of the Secret.
type action string

const (
	// idle: nothing has to be changed yet.
	idle action = "idle"
	// create: the Secret has no CA and no serving certificate, so create both.
	create action = "create"
	// renew: a new serving certificate from the same CA.
	renew action = "renew"
	// announce: a second CA joins the bundle (phase 1).
	announce action = "announce"
	// publish: the webhook configurations now trust the second CA.
	publish action = "publish"
	// switchOver: the second CA signs a new serving certificate (phase 2).
	switchOver action = "switch over"
	// retire: the old CAs leave the bundle (phase 3).
	retire action = "retire"
	// hide: a new path, as the present one may be known (see [Manager.Suspect]).
	hide action = "hide"
)

// step is an action with the moment from which the action is due.
type step struct {
	do action
	at time.Time
}

// decide returns the action to perform now, or idle and the moment of the next action. If
// several actions are due, the action that has been due for longest is first. So the serving
// certificate is renewed even while the webhook configurations cannot be written: publish is
// due only from now on. A new path is due when suspected is the present path, but not before earliest.
func (p policy) decide(s *state, suspected string, earliest, now time.Time) step {
	if s == nil || !now.Before(s.ca.Leaf.NotAfter) {
		return step{create, now}
	}
	if !p.covers(s.leaf.Leaf) {
		return step{renew, now}
	}
	steps := []step{{renew, s.leaf.Leaf.NotAfter.Add(-p.leafValidity / 2)}}
	if len(s.retiring) > 0 {
		steps = append(steps, step{retire, s.SwitchedAt.Add(p.retireAfter)})
	}
	switch s.path {
	case "": // An administrator asked for a new path.
		steps = append(steps, step{hide, time.Time{}})
	case suspected:
		steps = append(steps, step{hide, earliest})
	}
	switch {
	case s.next.Leaf == nil:
		steps = append(steps, step{announce, s.ca.Leaf.NotAfter.Add(-p.leafValidity * 3 / 2)})
	case s.PublishedAt.IsZero():
		steps = append(steps, step{publish, now})
	default:
		steps = append(steps, step{switchOver, s.PublishedAt.Add(p.propagationDelay)})
	}
	first := slices.MinFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	if now.Before(first.at) {
		first.do = idle
	}
	return first
}

// covers reports whether a serving certificate has every wanted name.
func (p policy) covers(cert *x509.Certificate) bool {
	names := namesOf(cert)
	return !slices.ContainsFunc(p.names, func(name string) bool { return !slices.Contains(names, name) })
}
