package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"
)

const day = 24 * time.Hour

var (
	// epoch is when every test begins.
	epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

	names = []string{"webhook.kinship.svc", "192.0.2.7"}

	// testPolicy has round numbers: a CA of 1000 days is due at day 865, a serving
	// certificate of 90 days at day 45.
	testPolicy = policy{
		names:            names,
		caValidity:       1000 * day,
		leafValidity:     90 * day,
		propagationDelay: 30 * time.Second,
		retireAfter:      90 * day,
	}
)

// sketch returns a state with only the fields that decide reads: a CA that expires in caEnds
// days and a serving certificate that expires in leafEnds days.
func sketch(caEnds, leafEnds int, changes ...func(*state)) *state {
	s := &state{
		path: "present",
		ca:   tls.Certificate{Leaf: &x509.Certificate{NotAfter: epoch.AddDate(0, 0, caEnds)}},
		leaf: tls.Certificate{Leaf: &x509.Certificate{
			NotAfter: epoch.AddDate(0, 0, leafEnds), DNSNames: names[:1], IPAddresses: []net.IP{net.ParseIP(names[1])},
		}},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func announcedCA(s *state) {
	s.next.Leaf = &x509.Certificate{NotAfter: epoch.AddDate(0, 0, 1000)}
}

func publishedAgo(ago time.Duration) func(*state) {
	return func(s *state) { s.PublishedAt = epoch.Add(-ago) }
}

func retiringIn(in time.Duration) func(*state) {
	return func(s *state) {
		s.retiring = []*x509.Certificate{{}}
		s.SwitchedAt = epoch.Add(in - testPolicy.retireAfter)
	}
}

func named(dns ...string) func(*state) {
	return func(s *state) { s.leaf.Leaf.DNSNames = dns }
}

func TestDecide(t *testing.T) {
	cases := map[string]struct {
		reason string
		state  *state
		want   action
		// suspected is a path that a user may know, and pause how long it has to be kept.
		suspected string
		pause     time.Duration
		// in is how long an idle decision has nothing to do.
		in time.Duration
	}{
		"nothing yet": {
			reason: "the first replica creates everything",
			want:   create,
		},
		"all fresh": {
			reason: "the serving certificate is renewed at half of its 90 days",
			state:  sketch(1000, 90), want: idle, in: 45 * day,
		},
		"half of the life is over": {
			reason: "the rest of the life is for failures",
			state:  sketch(1000, 45), want: renew,
		},
		"half of the life is over tomorrow": {
			reason: "until then only a timer runs",
			state:  sketch(1000, 46), want: idle, in: day,
		},
		"serving certificate has expired": {
			reason: "the process slept; the CA is still trusted, so no phases are needed",
			state:  sketch(1000, -5), want: renew,
		},
		"another name wanted": {
			reason: "an operator with a new address must be reachable at once",
			state:  sketch(1000, 90, named("elsewhere")), want: renew,
		},
		"more names than wanted": {
			reason: "another replica may still want the name",
			state:  sketch(1000, 90, named("webhook.kinship.svc", "elsewhere")), want: idle, in: 45 * day,
		},
		"CA is due": {
			reason: "135 days before its end a new CA begins: the old CA then outlives each certificate that it signs",
			state:  sketch(135, 90), want: announce,
		},
		"CA is due tomorrow": {
			reason: "the earlier of both moments counts",
			state:  sketch(136, 90), want: idle, in: day,
		},
		"CA and serving certificate are due": {
			reason: "the CA is due for longer; the renewal follows in the same call, before the publication",
			state:  sketch(100, 20), want: announce,
		},
		"CA has expired": {
			reason: "no certificate of the CA is valid, so there is nothing to overlap with",
			state:  sketch(-1, -1), want: create,
		},
		"announced": {
			reason: "no API server trusts the new CA before it is published",
			state:  sketch(100, 90, announcedCA), want: publish,
		},
		"announced, serving certificate due": {
			reason: "publishing may fail for long; meanwhile the old CA signs",
			state:  sketch(100, 20, announcedCA), want: renew,
		},
		"published just now": {
			reason: "API servers need a moment to follow",
			state:  sketch(100, 90, announcedCA, publishedAgo(10*time.Second)), want: idle, in: 20 * time.Second,
		},
		"published and followed": {
			reason: "after the propagation delay the new CA signs",
			state:  sketch(100, 90, announcedCA, publishedAgo(30*time.Second)), want: switchOver,
		},
		"switched": {
			reason: "the old CA is trusted while a replica may serve a certificate of it",
			state:  sketch(1000, 90, retiringIn(5*day)), want: idle, in: 5 * day,
		},
		"path known": {
			reason: "the API server has printed the path to a user",
			state:  sketch(1000, 90), suspected: "present", want: hide,
		},
		"path known again": {
			reason: "a user who makes calls fail may not cause a write for each",
			state:  sketch(1000, 90), suspected: "present", pause: time.Second, want: idle, in: time.Second,
		},
		"former path known": {
			reason: "another replica has replaced the path",
			state:  sketch(1000, 90), suspected: "former", want: idle, in: 45 * day,
		},
		"path removed": {
			reason: "an administrator asked for another path",
			state:  sketch(1000, 90, func(s *state) { s.path = "" }), pause: time.Second, want: hide,
		},
		"retirement due": {
			reason: "every certificate of the old CA has expired",
			state:  sketch(1000, 90, retiringIn(0)), want: retire,
		},
		"retirement due while another is announced": {
			reason: "to drop one CA does not undo the publication of another",
			state:  sketch(1000, 90, announcedCA, publishedAgo(time.Second), retiringIn(-day)), want: retire,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := testPolicy.decide(tc.state, tc.suspected, epoch.Add(tc.pause), epoch)
			if got.do != tc.want {
				t.Fatalf("%s: decided to %s, want %s", tc.reason, got.do, tc.want)
			}
			if tc.want == idle && got.at.Sub(epoch) != tc.in {
				t.Errorf("%s: idle for %v, want %v", tc.reason, got.at.Sub(epoch), tc.in)
			}
		})
	}
}
