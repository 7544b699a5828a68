package certificate

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxRetiring bounds the bundle. Only rotations forced in quick succession come
// near it.
const maxRetiring = 8

// state is what the Secret says, and all that decisions are made from. It is
// never changed; steps return a new one.
type state struct {
	// signer is the CA that signed serving.
	signer  pair
	serving pair
	// incoming is the CA that signs next; nil outside phase 1.
	incoming *pair
	// publishedAt is when the webhook configurations were known to trust
	// incoming; zero if they may not.
	publishedAt time.Time
	// lastExpiry is when the last of all the certificates that signer signed
	// expires. It is not always serving: a shorter ServingValidity may have been
	// chosen since.
	lastExpiry time.Time
	// retiring are earlier CAs that are still trusted.
	retiring []retiree
	// path is the last part of the webhooks' paths, which nobody can guess. It stays
	// the same in a rotation, as there can be no overlap of two paths.
	path string
}

// retiree is a CA which is no longer trusted from a moment on.
type retiree struct {
	cert  *x509.Certificate
	until time.Time
}

// bundle returns every CA to trust, the signer first.
func (s *state) bundle() []*x509.Certificate {
	certs := []*x509.Certificate{s.signer.cert}
	if s.incoming != nil {
		certs = append(certs, s.incoming.cert)
	}
	for _, r := range s.retiring {
		certs = append(certs, r.cert)
	}
	return certs
}

// exported returns the part that callers may see.
func (s *state) exported() Bundle {
	return Bundle{
		CA:   encodeCerts(s.bundle()),
		Path: s.path,
		Certificate: tls.Certificate{
			Certificate: [][]byte{s.serving.cert.Raw},
			PrivateKey:  s.serving.key,
			Leaf:        s.serving.cert,
		},
	}
}

// phase names the state for logs.
func (s *state) phase() string {
	switch {
	case s.incoming != nil:
		return "announced"
	case len(s.retiring) > 0:
		return "switched"
	default:
		return "steady"
	}
}

// step returns the state after an action. It is the only place where keys are
// made.
func (p policy) step(s *state, do action, now time.Time) (*state, error) {
	switch do {
	case create:
		return p.fresh(now)
	case renew:
		return p.renewed(s, now)
	case announce:
		return p.announced(s, now)
	case switchOver:
		return p.switched(s, now)
	case retire:
		return s.retired(now), nil
	default:
		return nil, fmt.Errorf("%v is no step from one state to another", do)
	}
}

func (p policy) fresh(now time.Time) (*state, error) {
	signer, err := newAuthority(now, p.caValidity)
	if err != nil {
		return nil, err
	}
	serving, err := newServing(signer, p.names, now, p.servingValidity)
	if err != nil {
		return nil, err
	}
	return &state{signer: signer, serving: serving, lastExpiry: serving.cert.NotAfter, path: rand.Text()}, nil
}

// renewed keeps the names of the present certificate if it is replaced for its
// names, and drops those no longer wanted if it is replaced for its age.
func (p policy) renewed(s *state, now time.Time) (*state, error) {
	names := p.names
	if !names.coveredBy(s.serving.cert) {
		names = names.and(s.serving.cert)
	}
	serving, err := newServing(s.signer, names, now, p.servingValidity)
	if err != nil {
		return nil, err
	}
	next := *s
	next.serving = serving
	next.lastExpiry = later(s.lastExpiry, serving.cert.NotAfter)
	return &next, nil
}

func (p policy) announced(s *state, now time.Time) (*state, error) {
	if len(s.retiring) >= maxRetiring {
		return nil, fmt.Errorf("announce new certificate authority: %d earlier ones are still trusted, the first until %v",
			len(s.retiring), s.nextRetirement().Format(time.RFC3339))
	}
	incoming, err := newAuthority(now, p.caValidity)
	if err != nil {
		return nil, err
	}
	next := *s
	next.incoming, next.publishedAt = &incoming, time.Time{}
	return &next, nil
}

func (p policy) switched(s *state, now time.Time) (*state, error) {
	if s.incoming == nil {
		return nil, errors.New("switch certificate authority: none was announced")
	}
	serving, err := newServing(*s.incoming, p.names, now, p.servingValidity)
	if err != nil {
		return nil, err
	}
	until := s.lastExpiry
	if limit := now.Add(p.retireAfter); p.retireAfter > 0 && limit.Before(until) {
		until = limit
	}
	return &state{
		signer:     *s.incoming,
		serving:    serving,
		lastExpiry: serving.cert.NotAfter,
		path:       s.path,
		retiring:   append(slices.Clone(s.retiring), retiree{cert: s.signer.cert, until: until}),
	}, nil
}

func (s *state) retired(now time.Time) *state {
	next := *s
	next.retiring = slices.DeleteFunc(slices.Clone(s.retiring), func(r retiree) bool { return !now.Before(r.until) })
	return &next
}

// published returns the state after the webhook configurations were written.
func (s *state) published(now time.Time) *state {
	next := *s
	next.publishedAt = now
	return &next
}

// restored returns what to write when the Secret is gone and this process still
// knows what was in it: the same with a rotation begun, since whoever deleted it
// wanted other keys. A rotation under way starts over from its publication,
// because the webhook configurations may have been deleted as well.
func (p policy) restored(s *state, now time.Time) (*state, error) {
	if s == nil || !now.Before(s.signer.cert.NotAfter) {
		return p.fresh(now)
	}
	if s.incoming != nil {
		return s.published(time.Time{}), nil
	}
	return p.announced(s, now)
}

// nextRetirement is when the first retiring CA may go; zero if there is none.
func (s *state) nextRetirement() time.Time {
	var first time.Time
	for _, r := range s.retiring {
		if first.IsZero() || r.until.Before(first) {
			first = r.until
		}
	}
	return first
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
