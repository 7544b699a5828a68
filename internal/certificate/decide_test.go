package certificate

import (
	"crypto/x509"
	"net"
	"slices"
	"testing"
	"time"
)

const day = 24 * time.Hour

var (
	// epoch is when every test begins.
	epoch = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

	names = subject{dns: []string{"webhook.kinship.svc"}, ips: []net.IP{net.IPv4(192, 0, 2, 7)}}

	// testPolicy has round numbers: CA 1000 days, due at 880; serving 90, due at 60.
	testPolicy = policy{
		names:            names,
		caValidity:       1000 * day,
		servingValidity:  90 * day,
		renewBefore:      30 * day,
		propagationDelay: 30 * time.Second,
	}
)

// sketch returns a state whose certificates hold nothing but what decide reads:
// a CA that ends on one day and a serving certificate that ends on another.
func sketch(caEnds, servingEnds int, changes ...func(*state)) *state {
	s := &state{
		signer: pair{cert: &x509.Certificate{NotAfter: epoch.AddDate(0, 0, caEnds)}},
		serving: pair{cert: &x509.Certificate{
			NotAfter: epoch.AddDate(0, 0, servingEnds), DNSNames: names.dns, IPAddresses: names.ips,
		}},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func announcedCA(s *state) {
	s.incoming = &pair{cert: &x509.Certificate{NotAfter: epoch.AddDate(0, 0, 1000)}}
}

func publishedAgo(ago time.Duration) func(*state) {
	return func(s *state) { s.publishedAt = epoch.Add(-ago) }
}

func retiringIn(in time.Duration) func(*state) {
	return func(s *state) { s.retiring = append(s.retiring, retiree{until: epoch.Add(in)}) }
}

func named(dns ...string) func(*state) {
	return func(s *state) { s.serving.cert.DNSNames = dns }
}

func TestDecide(t *testing.T) {
	cases := map[string]struct {
		reason string
		state  *state
		want   action
		// in is how long an idle decision has nothing to do.
		in time.Duration
	}{
		"nothing yet": {
			reason: "the first replica to start makes everything",
			want:   create,
		},
		"all fresh": {
			reason: "the next thing due is the renewal, 30 days before day 90",
			state:  sketch(1000, 90), want: idle, in: 60 * day,
		},
		"serving is due": {
			reason: "day 30 is 30 days away",
			state:  sketch(1000, 30), want: renew,
		},
		"serving is due soon": {
			reason: "one day before that, only a timer is set",
			state:  sketch(1000, 31), want: idle, in: day,
		},
		"serving has expired": {
			reason: "the operator was off; its CA is still trusted, so no phases are needed",
			state:  sketch(1000, -5), want: renew,
		},
		"another name wanted": {
			reason: "an operator that moved must be reachable at once",
			state:  sketch(1000, 90, named("elsewhere")), want: renew,
		},
		"more names than wanted": {
			reason: "another replica may still want them",
			state:  sketch(1000, 90, named("webhook.kinship.svc", "elsewhere")), want: idle, in: 60 * day,
		},
		"CA is due": {
			reason: "120 days before its end a new one begins: then it still outlives what it signs",
			state:  sketch(120, 90), want: announce,
		},
		"CA is due and the bundle is full": {
			reason: "after many forced rotations the first retirement comes in time",
			state:  sketch(120, 90, slices.Repeat([]func(*state){retiringIn(day)}, maxRetiring)...), want: idle, in: day,
		},
		"CA is due before the serving certificate": {
			reason: "the earlier of both moments counts",
			state:  sketch(121, 90), want: idle, in: day,
		},
		"CA and serving are due": {
			reason: "what keeps admission working comes first",
			state:  sketch(100, 20), want: renew,
		},
		"serving cannot last longer": {
			reason: "a new certificate would end with its CA as this one does; renewing would never stop",
			state:  sketch(20, 20), want: announce,
		},
		"CA has expired": {
			reason: "nothing it signed is valid, so there is nothing to overlap with",
			state:  sketch(-1, -1), want: create,
		},
		"CA has expired while another was announced": {
			reason: "the announced one may be trusted already",
			state:  sketch(-1, -1, announcedCA), want: switchOver,
		},
		"announced": {
			reason: "nobody trusts the new CA before it is published",
			state:  sketch(100, 90, announcedCA), want: publish,
		},
		"announced, serving due": {
			reason: "publishing may fail for long; the old CA goes on signing meanwhile",
			state:  sketch(100, 20, announcedCA), want: renew,
		},
		"published just now": {
			reason: "API servers need a moment to notice",
			state:  sketch(100, 90, announcedCA, publishedAgo(10*time.Second)), want: idle, in: 20 * time.Second,
		},
		"published and noticed": {
			reason: "after the propagation delay the new CA signs",
			state:  sketch(100, 90, announcedCA, publishedAgo(30*time.Second)), want: switchOver,
		},
		"switched": {
			reason: "the old CA stays while something it signed may be in use",
			state:  sketch(1000, 90, retiringIn(5*day)), want: idle, in: 5 * day,
		},
		"retirement due": {
			reason: "then it is dropped",
			state:  sketch(1000, 90, retiringIn(5*day), retiringIn(0)), want: retire,
		},
		"retirement due while another is announced": {
			reason: "dropping one CA does not undo the publication of another",
			state:  sketch(1000, 90, announcedCA, publishedAgo(time.Second), retiringIn(-day)), want: retire,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := testPolicy.decide(tc.state, epoch)
			if got.do != tc.want {
				t.Fatalf("%s: decided to %v (%s), want %v", tc.reason, got.do, got.why, tc.want)
			}
			if tc.want == idle && got.at.Sub(epoch) != tc.in {
				t.Errorf("%s: idle for %v, want %v", tc.reason, got.at.Sub(epoch), tc.in)
			}
			if tc.want != idle && got.why == "" {
				t.Error("the decision gives no reason for the log")
			}
		})
	}
}
