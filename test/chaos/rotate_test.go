package chaos_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// rotateRate bounds the load of TestRotate from below in .ci/nightly. Without the flag, no time is judged.
var rotateRate = flag.Float64("rotate-rate", 0,
	"how many deletions a second TestRotate must have answered at least; for a quiet machine")

// TestRotate replaces the certificate authority, by deleting its Secret, while many clients
// delete protected objects. Every request is answered with a refusal.
//
// One more replica of the certificates drives the rotation, with a propagation delay of two
// seconds instead of thirty.
func TestRotate(t *testing.T) {
	operator.Start(t)
	s := newScene(t)
	n := sized(20)
	s.protect(n)
	certificates := s.certificates()
	before, err := certificates.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { _ = certificates.Start(ctx) }) // Start returns no error.
	defer running.Wait()
	defer cancel()

	began := time.Now()
	got, stop := s.attack(s.crowd(n))
	running.Go(func() { s.checkTrust(ctx) })
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = options.Namespace, "kinship-webhook-certificate"
	if err := s.c.Delete(t.Context(), secret); err != nil { // A running replica then begins a rotation.
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		now, _ := certificates.Current()
		if bytes.Equal(now.Certificate.Certificate[0], before.Certificate.Certificate[0]) {
			return errors.New("the certificate is the old one")
		}
		return s.served(now.Certificate.Certificate[0])
	})
	testenv.Eventually(t, func() error { return s.trusted(1) })
	during := got.total() // From here on the API server trusts the new authority alone.
	testenv.Eventually(t, func() error {
		if more := got.total() - during; more < 800 {
			return fmt.Errorf("%d deletions were answered after the rotation", more)
		}
		return nil
	})
	answers := stop()
	rate := float64(answers.total()) / time.Since(began).Seconds()
	t.Logf("deletions were answered: %s, %.0f a second from %d clients", answers, rate, crowdSize)
	if len(answers.failed) > 0 {
		t.Errorf("want every deletion refused by the operator: %v", answers.failed)
	}
	if rate < *rotateRate {
		t.Errorf("%.0f deletions a second were answered, want at least %.0f", rate, *rotateRate)
	}
}

// TestSecretDeleted deletes the Secret with the certificates and the secret path. The operator
// writes the Secret again from memory, begins to replace the keys, and no request of the API
// server fails.
func TestSecretDeleted(t *testing.T) {
	operator.Start(t)
	s := newScene(t)
	s.protect(1)
	var before, after corev1.Secret
	key := client.ObjectKey{Namespace: options.Namespace, Name: "kinship-webhook-certificate"}
	if err := s.c.Get(t.Context(), key, &before); err != nil {
		t.Fatal(err)
	}
	_, stop := s.attack(s.deleters(0, 1))
	if err := s.c.Delete(t.Context(), before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return s.c.Get(t.Context(), key, &after) })
	answers := stop()
	t.Logf("deletions were answered: %s", answers)
	if len(answers.failed) > 0 {
		t.Errorf("want every deletion refused by the operator: %v", answers.failed)
	}
	if !bytes.Equal(before.Data["ca.key"], after.Data["ca.key"]) {
		t.Error("ca.key is another than before")
	}
	if bytes.Equal(before.Data["path"], after.Data["path"]) {
		t.Error("whoever deletes the Secret wants another path")
	}
	if len(after.Data["next-ca.key"]) == 0 {
		t.Error("whoever deletes the Secret wants other keys")
	}
}

// crowdSize is how many clients crowd returns. Each client has one request under way: a hundred deletions a second need
// answers within 80 ms.
const crowdSize = 8

// crowd returns clients that delete n protected ConfigMaps. The webhook answers each deletion.
func (s scene) crowd(n int) []attacker {
	crowd := make([]attacker, crowdSize)
	for k := range crowd {
		crowd[k] = attacker{fmt.Sprintf("client %d", k), func(ctx context.Context, i int) error {
			return s.deleteRefused(ctx, i%n)
		}}
	}
	return crowd
}

// called returns the URL that the API server asks about deletions.
func (s scene) called() (string, error) {
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := s.c.Get(s.t.Context(), client.ObjectKey{Name: "crossplane-no-usages"}, &c); err != nil {
		return "", err
	}
	return *c.Webhooks[0].ClientConfig.URL, nil
}

func (s scene) certificates() *certificate.Manager {
	s.t.Helper()
	return certificate.New(certificate.Options{
		Client:           s.c,
		Secret:           types.NamespacedName{Namespace: options.Namespace, Name: "kinship-webhook-certificate"},
		Names:            []string{"127.0.0.1"},
		PropagationDelay: 2 * time.Second,
		RetireAfter:      2 * time.Second,
		// The operator publishes. This waits until it has.
		OnBundle: func(_ context.Context, bundle certificate.Bundle) error {
			return s.insist(func(context.Context) error { return s.trusted(bytes.Count(bundle.CA, []byte("BEGIN"))) })
		},
	})
}

// trusted returns nil if every webhook of ours trusts this number of authorities.
func (s scene) trusted(want int) error {
	for _, name := range []string{"crossplane-no-usages", "kinship-usage"} {
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		if err := s.c.Get(s.t.Context(), client.ObjectKey{Name: name}, &c); err != nil {
			return err
		}
		for _, w := range c.Webhooks {
			if got := len(parse(w.ClientConfig.CABundle)); got != want {
				return fmt.Errorf("webhook %s trusts %d authorities, want %d", w.Name, got, want)
			}
		}
	}
	return nil
}

func parse(bundle []byte) []*pem.Block {
	var blocks []*pem.Block
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		blocks = append(blocks, block)
	}
	return blocks
}

// lag is the delay with which a simulated API server follows webhook configurations. It is half
// of the propagation delay.
const lag = time.Second

// checkTrust compares the certificate of the operator with the CAs that an API server with the
// largest allowed delay trusts. The real API server follows quickly, and keeps its connections,
// so it would not notice an error.
func (s scene) checkTrust(ctx context.Context) {
	type trust struct {
		seen   time.Time // the last time; the Secret may have been replaced at once
		bundle []byte
	}
	var history []trust
	for ctx.Err() == nil {
		start := time.Now()
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		if err := s.c.Get(ctx, client.ObjectKey{Name: "crossplane-no-usages"}, &c); err != nil {
			continue // The rotation has ended.
		}
		now := trust{start, c.Webhooks[0].ClientConfig.CABundle}
		if last := len(history) - 1; last >= 0 && bytes.Equal(now.bundle, history[last].bundle) {
			history[last] = now
		} else {
			history = append(history, now)
		}
		served, err := s.serving()
		if err != nil {
			continue
		}
		// Now, and not before: the handshake may have taken long.
		history = slices.DeleteFunc(history, func(t trust) bool { return time.Since(t.seen) > lag })
		for _, t := range history {
			if err := verify(served, t.bundle); err != nil {
				s.t.Errorf("an API server that is %s late: %v", lag, err)
				return
			}
		}
	}
}

func verify(served, bundle []byte) error {
	certificate, err := x509.ParseCertificate(served)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots})
	return err
}

// served returns nil if the operator serves a certificate.
func (s scene) served(want []byte) error {
	got, err := s.serving()
	if err == nil && !bytes.Equal(got, want) {
		return errors.New("the operator serves another certificate")
	}
	return err
}

// serving returns the certificate that the operator serves.
func (s scene) serving() ([]byte, error) {
	called, err := s.called()
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(called)
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(s.t.Context(), "tcp", address.Host)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, nil
}
