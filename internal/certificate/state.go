package certificate

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// maxNames bounds the names of a serving certificate that inherits names.
	maxNames = 100
	// maxRetiring bounds the old CAs in the bundle. Only a Secret that is deleted again
	// and again within 90 days gets near the bound.
	maxRetiring = 8
)

// state is the content of the Secret. A state is never changed: perform returns a new one.
type state struct {
	// ca signed leaf, the serving certificate.
	ca, leaf tls.Certificate
	// next is the CA that will sign after the switch. Its Leaf is nil outside phase 1.
	next tls.Certificate
	// retiring are the CAs of earlier rotations that are still trusted, newest first.
	retiring []*x509.Certificate
	// path is [Bundle.Path], or "" if an administrator has asked for a new path.
	path string

	record
}

// record has the data of the state that certificates can't have. It is in the data of the
// Secret and not in annotations, because fewer users may write the data.
type record struct {
	// PublishedAt is when the webhook configurations were found to trust next. PublishedAt is
	// zero before that.
	PublishedAt time.Time `json:"publishedAt,omitzero"`
	// SwitchedAt is when ca began to sign. The retiring CAs are dropped some time later.
	SwitchedAt time.Time `json:"switchedAt,omitzero"`
}

// bundle returns every CA to trust, the present signer first.
func (s *state) bundle() []*x509.Certificate {
	certs := []*x509.Certificate{s.ca.Leaf}
	if s.next.Leaf != nil {
		certs = append(certs, s.next.Leaf)
	}
	return append(certs, s.retiring...)
}

// exported returns the [Bundle] of a state.
func (s *state) exported() Bundle {
	return Bundle{CA: encodeCerts(s.bundle()...), Path: s.path, Certificate: s.leaf}
}

// newPath returns a path: lower case, as the API server refuses other letters in clientConfig.service.path.
func newPath() string { return strings.ToLower(rand.Text()) }

// perform returns the state after an action. All keys and paths are created here. The path changes with every
// certificate: a call that failed for a certificate may have shown the path.
func (p policy) perform(do action, s *state, now time.Time) (*state, error) {
	var after state
	if s != nil {
		after = *s
	}
	if do != publish && do != retire {
		after.path = newPath()
	}
	var err error
	switch do {
	case hide:
	case create:
		after = state{path: after.path}
		if after.ca, err = newAuthority(now, p.caValidity); err != nil {
			return nil, err
		}
		after.leaf, err = newLeaf(&after.ca, p.names, now, p.leafValidity)
	case renew:
		after.leaf, err = newLeaf(&s.ca, p.renewedNames(s.leaf.Leaf), now, p.leafValidity)
	case announce:
		// A CA that is announced already is kept and published again.
		if after.PublishedAt = (time.Time{}); s.next.Leaf == nil {
			after.next, err = newAuthority(now, p.caValidity)
		}
	case publish:
		after.PublishedAt = now
	case switchOver:
		retiring := slices.Concat([]*x509.Certificate{s.ca.Leaf}, s.retiring)
		after.retiring = retiring[:min(len(retiring), maxRetiring)]
		after.ca, after.next, after.SwitchedAt = s.next, tls.Certificate{}, now
		after.leaf, err = newLeaf(&after.ca, p.names, now, p.leafValidity)
	case retire:
		after.retiring = nil
	default:
		err = fmt.Errorf("%q does not change a Secret", do)
	}
	if err != nil {
		return nil, err
	}
	return &after, nil
}

// renewedNames returns the names for the successor of a serving certificate. A certificate that
// lacks a wanted name passes its own names on: during an upgrade, old and new replicas want
// different names, and each would replace the certificate of the other. The renewal at half of
// the validity drops the names that no replica wants any more.
func (p policy) renewedNames(old *x509.Certificate) []string {
	union := slices.Concat(p.names, namesOf(old))
	slices.Sort(union)
	union = slices.Compact(union)
	if p.covers(old) || len(union) > maxNames {
		return p.names
	}
	return union
}
