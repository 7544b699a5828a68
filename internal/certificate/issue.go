package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"time"
)

// backdate makes a certificate valid a little before it is made, for clocks that
// run behind ours.
const backdate = time.Hour

// maxNames bounds the names that a serving certificate inherits.
const maxNames = 100

// pair is a certificate and its private key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// subject is whom a serving certificate speaks for.
type subject struct {
	dns []string
	ips []net.IP
}

// coveredBy reports whether the certificate holds all the names.
func (s subject) coveredBy(cert *x509.Certificate) bool {
	for _, name := range s.dns {
		if !slices.Contains(cert.DNSNames, name) {
			return false
		}
	}
	for _, ip := range s.ips {
		if !slices.ContainsFunc(cert.IPAddresses, ip.Equal) {
			return false
		}
	}
	return true
}

// and returns the union with the names of a certificate, or just the names if
// that would be too many. During an upgrade old and new replicas may want
// different names; without the union they would replace each other's certificate
// for as long as the upgrade takes.
func (s subject) and(cert *x509.Certificate) subject {
	union := subject{dns: slices.Clone(s.dns), ips: slices.Clone(s.ips)}
	for _, name := range cert.DNSNames {
		if !slices.Contains(union.dns, name) {
			union.dns = append(union.dns, name)
		}
	}
	for _, ip := range cert.IPAddresses {
		if !slices.ContainsFunc(union.ips, ip.Equal) {
			union.ips = append(union.ips, ip)
		}
	}
	if len(union.dns)+len(union.ips) > maxNames {
		return s
	}
	return union
}

func (s subject) commonName() string {
	const limit = 64 // of the field, by RFC 5280
	for _, name := range s.dns {
		if len(name) <= limit {
			return name
		}
	}
	return "kinship-webhook"
}

// newAuthority makes a CA. Its name is unique, so that a verifier which chooses
// an issuer by name is never led to the other CA of a bundle.
func newAuthority(now time.Time, validity time.Duration) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("generate key of certificate authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kinship-webhook-ca-" + keyID(key)},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	}
	return sign(template, template, key, key)
}

// newServing makes a serving certificate. It ends no later than the CA that
// signs it.
func newServing(signer pair, names subject, now time.Time, validity time.Duration) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("generate key of serving certificate: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: names.commonName()},
		DNSNames:              names.dns,
		IPAddresses:           names.ips,
		NotBefore:             now.Add(-backdate),
		NotAfter:              servingEnd(signer.cert, now, validity),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	return sign(template, signer.cert, key, signer.key)
}

// servingEnd is when a serving certificate made now would expire.
func servingEnd(signer *x509.Certificate, now time.Time, validity time.Duration) time.Time {
	end := now.Add(validity)
	if end.After(signer.NotAfter) {
		return signer.NotAfter
	}
	return end
}

func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return pair{}, fmt.Errorf("sign certificate %q: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("read back certificate %q: %w", template.Subject.CommonName, err)
	}
	return pair{cert: cert, key: key}, nil
}

// keyID is a short name for a key.
func keyID(key *ecdsa.PrivateKey) string {
	raw, err := key.PublicKey.Bytes()
	if err != nil {
		return "unknown" // only for curves that have no such encoding; P-256 does
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// fingerprint names a certificate in the bookkeeping.
func fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}
