package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

// rotation returns the states of a whole rotation, phase 0 to 3, and the moments
// at which each begins.
func rotation(t *testing.T) ([]*state, []time.Time) {
	t.Helper()
	s := mustStep(t, nil, create, epoch)
	times := []time.Time{epoch, epoch.Add(day), epoch.Add(day + 30*time.Second), epoch.Add(91*day + 30*time.Second)}
	announced := mustStep(t, s, announce, times[1])
	switched := mustStep(t, announced, switchOver, times[2])
	return []*state{s, announced, switched, mustStep(t, switched, retire, times[3])}, times
}

func mustStep(t *testing.T, s *state, do action, now time.Time) *state {
	t.Helper()
	next, err := testPolicy.perform(do, s, now)
	if err != nil {
		t.Fatalf("%s: %v", do, err)
	}
	return next
}

// handshake connects a client that trusts the bundle of one state to a server with the
// certificate of another state, at a given time. It uses a loopback socket: a pipe without a
// buffer blocks both ends if the client sends an alert while the server is still sending.
func handshake(t *testing.T, client, server *state, host string, now time.Time) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	served := make(chan struct{})
	defer func() { <-served }()
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_ = tls.Server(conn, &tls.Config{
			Certificates: []tls.Certificate{server.exported().Certificate},
			MinVersion:   tls.VersionTLS12,
		}).HandshakeContext(t.Context()) // only the client's result counts
	}()

	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(client.exported().CA)
	return tls.Client(conn, &tls.Config{
		RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12,
		Time: func() time.Time { return now },
	}).HandshakeContext(t.Context())
}

func TestNoHandshakeFailsAcrossARotation(t *testing.T) {
	states, times := rotation(t)
	for c, client := range states {
		for s, server := range states {
			for _, host := range []string{"webhook.kinship.svc", "192.0.2.7"} {
				// Both states are in their phases from the moment the later phase begins. The
				// old certificate expires when phase 3 begins, and no replica may serve the
				// certificate after that.
				err := handshake(t, client, server, host, times[max(c, s)].Add(-time.Second))
				if apart := max(c-s, s-c); apart <= 1 && err != nil {
					t.Errorf("bundle of phase %d, server of phase %d, called as %s: %v", c, s, host, err)
				}
			}
		}
	}
}

func TestPhasesTooFarApartFail(t *testing.T) {
	// The phases matter only because these fail. If this test fails, the one above
	// proves nothing.
	states, times := rotation(t)
	for _, far := range []struct{ client, server int }{{0, 2}, {0, 3}, {3, 0}, {3, 1}} {
		err := handshake(t, states[far.client], states[far.server], "webhook.kinship.svc", times[1])
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
			t.Errorf("bundle of phase %d, server of phase %d: %v, want an unknown authority", far.client, far.server, err)
		}
	}
}

func TestServerIsVerifiedByName(t *testing.T) {
	s := mustStep(t, nil, create, epoch)
	for _, host := range []string{"other.svc", "192.0.2.8"} {
		if err := handshake(t, s, s, host, epoch); err == nil {
			t.Errorf("the certificate passes for %s", host)
		}
	}
}

func TestRenewal(t *testing.T) {
	old := mustStep(t, nil, create, epoch)
	wanted := testPolicy
	wanted.names = []string{"new.svc"}

	byName, err := wanted.perform(renew, old, epoch)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"new.svc", "webhook.kinship.svc", "192.0.2.7"}
	if diff := cmp.Diff(want, namesOf(byName.leaf.Leaf)); diff != "" {
		t.Errorf("replicas that want the old names still need them (-want, +got):\n%s", diff)
	}
	byAge, err := wanted.perform(renew, byName, epoch.Add(60*day))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"new.svc"}, namesOf(byAge.leaf.Leaf)); diff != "" {
		t.Errorf("the renewal at half-life drops the old names (-want, +got):\n%s", diff)
	}
	if !bytes.Equal(old.exported().CA, byAge.exported().CA) {
		t.Error("a renewal of the serving certificate changes the bundle")
	}
}

func TestInheritedNamesAreBounded(t *testing.T) {
	cert := &x509.Certificate{}
	for i := range maxNames {
		cert.IPAddresses = append(cert.IPAddresses, net.IPv4(10, 0, 0, byte(i)))
	}
	if diff := cmp.Diff(names, testPolicy.renewedNames(cert)); diff != "" {
		t.Errorf("inherited names (-want, +got):\n%s", diff)
	}
}

// TestRetirementWaitsForTheLastCertificate: a replica that lost touch with the API server
// may serve a certificate of the old CA until that certificate expires.
func TestRetirementWaitsForTheLastCertificate(t *testing.T) {
	if p := New(Options{}).policy; p.retireAfter < p.leafValidity || p.caValidity < 3*p.leafValidity {
		t.Errorf("%+v", p)
	}
	if p := New(Options{RetireAfter: time.Hour, PropagationDelay: time.Minute}).policy; p.retireAfter != time.Hour ||
		p.propagationDelay != time.Minute {
		t.Errorf("the options are ignored: %+v", p)
	}
}

func TestRepeatedRotationsAreBounded(t *testing.T) {
	s := mustStep(t, nil, create, epoch)
	var before *state
	for range maxRetiring + 2 {
		before = s
		s = mustStep(t, mustStep(t, s, announce, epoch), switchOver, epoch)
	}
	if len(s.retiring) != maxRetiring || !s.retiring[0].Equal(before.ca.Leaf) {
		t.Errorf("%d old CAs are trusted, want the last %d", len(s.retiring), maxRetiring)
	}
	data, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(data); err != nil {
		t.Errorf("the largest bundle cannot be read back: %v", err)
	}
}

// TestAnnounceAgain is about a Secret that is deleted during a rotation.
func TestAnnounceAgain(t *testing.T) {
	steady := mustStep(t, nil, create, epoch)
	announced := mustStep(t, steady, announce, epoch)
	if announced.path == steady.path {
		t.Error("the path stays with another CA")
	}
	if announced.next.Leaf == nil || !announced.leaf.Leaf.Equal(steady.leaf.Leaf) {
		t.Error("an announced CA may not sign yet")
	}
	again := mustStep(t, mustStep(t, announced, publish, epoch), announce, epoch)
	if !again.PublishedAt.IsZero() || !again.next.Leaf.Equal(announced.next.Leaf) {
		t.Error("a rotation under way goes on, but is published again")
	}
}

// TestPathOfService: the API server takes each part of the path of a Service's webhook for the name of a
// subdomain.
func TestPathOfService(t *testing.T) {
	data := encoded(t)
	data[keyPath] = []byte("O54SWEB6UEV2RTZTMQFY6HSJAV")
	earlier, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*state{mustStep(t, nil, create, epoch), earlier} {
		if problems := validation.IsDNS1123Subdomain(s.exported().Path); len(problems) > 0 {
			t.Errorf("the path %s: %v", s.exported().Path, problems)
		}
	}
}

func TestIdleIsNoStep(t *testing.T) {
	if _, err := testPolicy.perform(idle, nil, epoch); err == nil {
		t.Error("want an error")
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	states, _ := rotation(t)
	states[1] = mustStep(t, states[1], publish, epoch)
	if retired := states[len(states)-1]; states[0].path == retired.path {
		t.Error("the path stays over a rotation")
	}
	for phase, s := range states {
		data, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(data)
		if err != nil {
			t.Fatalf("phase %d: %v", phase, err)
		}
		again, err := back.encode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(data, again); diff != "" {
			t.Errorf("phase %d changes by being read (-want, +got):\n%s", phase, diff)
		}
		if got, want := testPolicy.decide(back, "", epoch, epoch), testPolicy.decide(s, "", epoch, epoch); got != want {
			t.Errorf("phase %d: a restart decides %v, the process before it %v", phase, got, want)
		}
	}
}

func TestDecodeRefusesWhatDoesNotBelongTogether(t *testing.T) {
	one, other := encoded(t), encoded(t)
	cases := map[string]struct {
		key   string
		value []byte
		want  string
	}{
		"no bundle":                 {keyBundle, nil, "read ca.crt"},
		"bundle of somebody else":   {keyBundle, other[keyBundle], "find the certificate of ca.key in ca.crt"},
		"bundle that is cut":        {keyBundle, one[keyBundle][:60], "read ca.crt"},
		"key of somebody else":      {keyLeafKey, other[keyLeafKey], "find the certificate of tls.key in tls.crt"},
		"no key":                    {keyCA, nil, "find the certificate of ca.key in ca.crt"},
		"certificate in key":        {keyCA, one[keyBundle], "find the certificate of ca.key"},
		"next key without its cert": {keyNext, other[keyCA], "find the certificate of next-ca.key in ca.crt"},
		"short path":                {keyPath, []byte("abc"), "read path: it is not a secret"},
		"path with a slash":         {keyPath, bytes.Repeat([]byte("a/"), 20), "read path: it is not a secret"},
		"broken record":             {keyRecord, []byte("{"), "read rotation.json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data := maps.Clone(one)
			data[tc.key] = tc.value
			if _, err := decode(data); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("decode: %v, want an error with %q", err, tc.want)
			}
		})
	}
	data := maps.Clone(one)
	data[keyLeaf], data[keyLeafKey] = other[keyLeaf], other[keyLeafKey]
	if _, err := decode(data); err == nil || !strings.Contains(err.Error(), "not signed by") {
		t.Errorf("a serving certificate of another CA: %v", err)
	}
}

func encoded(t *testing.T) map[string][]byte {
	t.Helper()
	data, err := mustStep(t, nil, create, epoch).encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLife simulates years of a random policy, acting at each moment that decide returns. For
// any durations: decide never loops, the server's certificate is always valid, and a client one
// step behind or ahead always verifies the certificate.
func TestLife(t *testing.T) {
	hours := func(t *rapid.T, label string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Hour
	}
	rapid.Check(t, func(t *rapid.T) {
		p := policy{names: names, leafValidity: hours(t, "leaf", 2, 100)}
		p.caValidity, p.retireAfter = 3*p.leafValidity+hours(t, "ca", 0, 300), p.leafValidity
		p.propagationDelay = time.Duration(rapid.IntRange(0, 600).Draw(t, "delay")) * time.Second
		live(t, p, rapid.IntRange(5, 25).Draw(t, "decisions"))
	})
}

func live(t *rapid.T, p policy, decisions int) {
	now, busy := epoch, 0
	var s *state
	for range decisions {
		d := p.decide(s, "", now, now)
		busy++
		switch {
		case busy > 5:
			t.Fatalf("at %v it still finds something to do: %s", now, d.do)
		case d.do == idle:
			if !d.at.After(now) {
				t.Fatalf("idle until %v, but it is %v", d.at, now)
			}
			now, busy = d.at, 0
		default:
			next, err := p.perform(d.do, s, now)
			if err != nil {
				t.Fatal(err)
			}
			if s != nil {
				checkNeighbours(t, s, next, now)
			}
			s = next
		}
	}
}

// checkNeighbours checks that bundle and certificate of two successive states match in all four
// combinations, except expired certificates that no replica can serve.
func checkNeighbours(t *rapid.T, before, after *state, now time.Time) {
	for _, client := range []*state{before, after} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(client.exported().CA)
		for _, server := range []*state{before, after} {
			if server == before && !now.Before(before.leaf.Leaf.NotAfter) {
				t.Fatalf("at %v the certificate of %v was never replaced", now, before.leaf.Leaf.NotAfter)
			}
			_, err := server.leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now})
			if err != nil {
				t.Fatalf("a bundle of %d CAs, then of %d, at %v: %v", len(before.bundle()), len(after.bundle()), now, err)
			}
		}
	}
}
