package certificate

import "time"

// action is what is due.
type action int

const (
	// idle: nothing is due before decision.at.
	idle action = iota
	// create: there is no state that could be continued.
	create
	// renew: a serving certificate from the same CA.
	renew
	// announce: a new CA beside the old one (phase 1).
	announce
	// publish: the webhook configurations have to learn of the announced CA.
	publish
	// switchOver: a serving certificate from the announced CA (phase 2).
	switchOver
	// retire: some CA is no longer needed in the bundle (phase 3).
	retire
)

// String returns the name for logs.
func (a action) String() string {
	return [...]string{"idle", "create", "renew", "announce", "publish", "switch over", "retire"}[a]
}

// decision is what to do now, and why; or when to look again.
type decision struct {
	do  action
	why string
	// at is set for idle and publish: when something else becomes due.
	at time.Time
}

// decide is the whole logic of the life of a certificate. What keeps admission
// working comes first: a serving certificate that is about to expire is renewed
// even in the middle of a rotation.
func (p policy) decide(s *state, now time.Time) decision {
	switch {
	case s == nil:
		return decision{do: create, why: "there is none yet"}
	case !now.Before(s.signer.cert.NotAfter):
		return p.decideExpired(s)
	case !p.names.coveredBy(s.serving.cert):
		return decision{do: renew, why: "names are missing in the serving certificate"}
	case p.renewable(s, now):
		return decision{do: renew, why: "the serving certificate is about to expire"}
	case due(s.nextRetirement(), now):
		return decision{do: retire, why: "no certificate of an earlier authority is in use"}
	case s.incoming != nil:
		return p.decideAnnounced(s, now)
	case due(p.rotation(s), now) && len(s.retiring) < maxRetiring:
		return decision{do: announce, why: "the certificate authority is about to expire"}
	case len(s.retiring) >= maxRetiring:
		// Only rotations forced in quick succession lead here. The first CA retires
		// within the life of a serving certificate, and this CA lives longer.
		return decision{do: idle, at: p.next(s, time.Time{})}
	default:
		return decision{do: idle, at: p.next(s, p.rotation(s))}
	}
}

// decideExpired is for an operator that was off for very long. Nothing signed by
// the CA is valid any more, so there is nothing to overlap with.
func (p policy) decideExpired(s *state) decision {
	if s.incoming != nil {
		return decision{do: switchOver, why: "the certificate authority has expired"}
	}
	return decision{do: create, why: "the certificate authority has expired"}
}

func (p policy) decideAnnounced(s *state, now time.Time) decision {
	if s.publishedAt.IsZero() {
		return decision{do: publish, why: "a certificate authority was announced", at: p.next(s, time.Time{})}
	}
	at := s.publishedAt.Add(p.propagationDelay)
	if due(at, now) {
		return decision{do: switchOver, why: "the announced certificate authority is trusted everywhere"}
	}
	return decision{do: idle, at: p.next(s, at)}
}

// renewable reports whether the serving certificate is due and a new one would
// last longer. Near the end of its CA it would not.
func (p policy) renewable(s *state, now time.Time) bool {
	return due(p.renewal(s), now) &&
		servingEnd(s.signer.cert, now, p.servingValidity).After(s.serving.cert.NotAfter)
}

func (p policy) renewal(s *state) time.Time { return s.serving.cert.NotAfter.Add(-p.renewBefore) }

func (p policy) rotation(s *state) time.Time { return s.signer.cert.NotAfter.Add(-p.caRenewBefore()) }

// next returns when something becomes due: other, or what is due in every phase.
// Beyond the renewal that brings nothing, the end of the CA is what is left.
func (p policy) next(s *state, other time.Time) time.Time {
	renewal := p.renewal(s)
	if !s.serving.cert.NotAfter.Before(s.signer.cert.NotAfter) {
		renewal = s.signer.cert.NotAfter
	}
	first := renewal
	for _, t := range []time.Time{other, s.nextRetirement()} {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// due reports whether a moment has come. The zero time never comes.
func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
