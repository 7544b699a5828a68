package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// rotation returns the states of a whole rotation, phase 0 to 3, and the moments
// at which each begins.
func rotation(t *testing.T) ([]*state, []time.Time) {
	t.Helper()
	s := mustStep(t, nil, create, epoch)
	times := []time.Time{epoch, epoch.Add(day), epoch.Add(day + 30*time.Second), s.lastExpiry}
	announced := mustStep(t, s, announce, times[1])
	switched := mustStep(t, announced, switchOver, times[2])
	return []*state{s, announced, switched, mustStep(t, switched, retire, times[3])}, times
}

func mustStep(t *testing.T, s *state, do action, now time.Time) *state {
	t.Helper()
	next, err := testPolicy.step(s, do, now)
	if err != nil {
		t.Fatalf("%v: %v", do, err)
	}
	return next
}

// handshake lets a client that trusts the bundle of one state call a server with
// the certificate of another, at a given time. It runs over a loopback socket:
// a pipe without a buffer blocks both ends when the client sends an alert while
// the server is still sending.
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
		}).HandshakeContext(t.Context()) // what counts is what the client says
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
				// Both are in their phases from the moment the later one begins. The
				// old certificate expires as phase 3 begins; nobody may serve it then.
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
	wanted.names = subject{dns: []string{"new.svc"}}

	byName, err := wanted.renewed(old, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"new.svc", "webhook.kinship.svc"}, byName.serving.cert.DNSNames); diff != "" {
		t.Errorf("for the sake of replicas that want the old name it stays (-want, +got):\n%s", diff)
	}
	byAge, err := wanted.renewed(byName, epoch.Add(60*day))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"new.svc"}, byAge.serving.cert.DNSNames); diff != "" {
		t.Errorf("the next ordinary renewal drops it (-want, +got):\n%s", diff)
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
	if union := names.and(cert); len(union.ips) != 1 || len(union.dns) != 1 {
		t.Errorf("%d names are inherited", len(union.ips)+len(union.dns))
	}
}

func TestRetirementWaitsForTheLastCertificate(t *testing.T) {
	long := mustStep(t, nil, create, epoch)
	short := testPolicy
	short.servingValidity = day
	s, err := short.renewed(long, epoch)
	if err != nil {
		t.Fatal(err)
	}
	s = mustStep(t, mustStep(t, s, announce, epoch), switchOver, epoch)
	if got := s.nextRetirement(); !got.Equal(long.serving.cert.NotAfter) {
		t.Errorf("the CA retires at %v although a certificate it signed lasts until %v", got, long.serving.cert.NotAfter)
	}

	impatient := testPolicy
	impatient.retireAfter = time.Hour
	s, err = impatient.switched(mustStep(t, long, announce, epoch), epoch)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.nextRetirement(); !got.Equal(epoch.Add(time.Hour)) {
		t.Errorf("RetireAfter is one hour, and the CA retires at %v", got)
	}
}

func TestForcedRotationsAreBounded(t *testing.T) {
	s := mustStep(t, nil, create, epoch)
	for range maxRetiring {
		s = mustStep(t, mustStep(t, s, announce, epoch), switchOver, epoch)
	}
	if _, err := testPolicy.step(s, announce, epoch); err == nil || !strings.Contains(err.Error(), "still trusted") {
		t.Errorf("announce beyond the bound: %v", err)
	}
	data, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(data); err != nil {
		t.Errorf("the largest bundle cannot be read back: %v", err)
	}
}

func TestRestoreAfterDeletion(t *testing.T) {
	steady := mustStep(t, nil, create, epoch)
	restored, err := testPolicy.restored(steady, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if restored.path != steady.path {
		t.Error("the API server would call a path that nobody answers")
	}
	if restored.phase() != "announced" || !restored.serving.cert.Equal(steady.serving.cert) {
		t.Error("whoever deletes the Secret wants other keys, and no failing admission")
	}
	again, err := testPolicy.restored(restored.published(epoch), epoch)
	if err != nil {
		t.Fatal(err)
	}
	if !again.publishedAt.IsZero() || !again.incoming.cert.Equal(restored.incoming.cert) {
		t.Error("a rotation under way goes on, but is published again")
	}
	fresh, err := testPolicy.restored(steady, steady.signer.cert.NotAfter)
	if err != nil {
		t.Fatal(err)
	}
	if fresh.signer.cert.Equal(steady.signer.cert) {
		t.Error("an expired CA is restored")
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	states, _ := rotation(t)
	states[1] = states[1].published(epoch)
	if path := states[0].path; slices.ContainsFunc(states, func(s *state) bool { return s.path != path }) {
		t.Error("the path changes in a rotation")
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
		if got, want := testPolicy.decide(back, epoch), testPolicy.decide(s, epoch); got != want {
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
		"no bundle":                 {keyBundle, nil, "read ca.crt: no certificate is in it"},
		"bundle of somebody else":   {keyBundle, other[keyBundle], "read ca.key: no certificate belongs to it"},
		"bundle that is cut":        {keyBundle, one[keyBundle][:60], "read ca.crt"},
		"huge bundle":               {keyBundle, bytes.Repeat(one[keyBundle], maxBundle+1), "more than 10 certificates"},
		"key of somebody else":      {keyServingKey, other[keyServingKey], "read tls.key: no certificate belongs to it"},
		"no key":                    {keySigner, nil, "read ca.key: no PEM block in it"},
		"certificate in key":        {keySigner, one[keyBundle], "read ca.key"},
		"next key without its cert": {keyIncoming, other[keySigner], "read next-ca.key: no certificate belongs to it"},
		"no path":                   {keyPath, nil, "read path: it is not a secret"},
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
	data[keyServing], data[keyServingKey] = other[keyServing], other[keyServingKey]
	if _, err := decode(data); err == nil || !strings.Contains(err.Error(), "not signed by") {
		t.Errorf("a serving certificate of another CA: %v", err)
	}
}

func TestUnknownAuthorityInTheBundleStaysUntilItExpires(t *testing.T) {
	data, other := encoded(t), encoded(t)
	data[keyBundle] = slices.Concat(other[keyBundle], data[keyBundle])
	s, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.retiring) != 1 || !s.retiring[0].until.Equal(s.retiring[0].cert.NotAfter) {
		t.Errorf("retiring: %v", s.retiring)
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

// TestLife lives through years of a random policy, acting at each moment decide
// asks for. Whatever the durations are: it never spins, the server's certificate
// is always valid, and one step behind or ahead is always verified.
func TestLife(t *testing.T) {
	hours := func(t *rapid.T, label string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, label)) * time.Hour
	}
	rapid.Check(t, func(t *rapid.T) {
		p := policy{names: names, servingValidity: hours(t, "serving", 2, 100)}
		p.renewBefore = hours(t, "renewBefore", 1, int(p.servingValidity/time.Hour)-1)
		p.caValidity = 2*p.caRenewBefore() + hours(t, "ca", 0, 300)
		p.propagationDelay = time.Duration(rapid.IntRange(0, 600).Draw(t, "delay")) * time.Second
		if err := p.problems(); err != nil {
			t.Fatal(err)
		}
		live(t, p, rapid.IntRange(5, 25).Draw(t, "decisions"))
	})
}

func live(t *rapid.T, p policy, decisions int) {
	now, busy := epoch, 0
	var s *state
	for range decisions {
		d := p.decide(s, now)
		busy++
		switch {
		case busy > 5:
			t.Fatalf("at %v it still finds something to do: %v, %s", now, d.do, d.why)
		case d.do == idle:
			if !d.at.After(now) {
				t.Fatalf("idle until %v, but it is %v", d.at, now)
			}
			now, busy = d.at, 0
		case d.do == publish:
			s = s.published(now)
		default:
			next, err := p.step(s, d.do, now)
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

// checkNeighbours checks that bundle and certificate of two states in a row go
// together in all four ways, apart from certificates that have expired and that
// nobody can be serving.
func checkNeighbours(t *rapid.T, before, after *state, now time.Time) {
	for _, client := range []*state{before, after} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(client.exported().CA)
		for _, server := range []*state{before, after} {
			if server == before && !now.Before(before.serving.cert.NotAfter) {
				t.Fatalf("at %v the certificate of %v was never replaced", now, before.serving.cert.NotAfter)
			}
			_, err := server.serving.cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now})
			if err != nil {
				t.Fatalf("%s to %s at %v: %v", before.phase(), after.phase(), now, err)
			}
		}
	}
}
