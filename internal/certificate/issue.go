package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"slices"
	"time"
)

// backdate is how long before its creation a certificate becomes valid. An API server whose
// clock is late by less than an hour accepts a new certificate at once.
const backdate = time.Hour

// newAuthority creates a CA. Each CA has a name of its own: a client that looks up the
// issuer of a certificate by name never finds the other CA of the bundle.
func newAuthority(now time.Time, validity time.Duration) (tls.Certificate, error) {
	return issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "kinship-webhook-ca-" + rand.Text()},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	}, nil)
}

// SelfSigned returns a certificate that no CA signed, for a server with this name. Clients can
// encrypt with the certificate, but cannot verify the server. The metrics server uses
// SelfSigned.
func SelfSigned(name string) (tls.Certificate, error) {
	return newLeaf(nil, []string{name, "localhost", "127.0.0.1", "::1"}, time.Now(), caValidity)
}

// newLeaf creates a serving certificate that the CA signs.
func newLeaf(ca *tls.Certificate, names []string, now time.Time, validity time.Duration) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kinship-webhook"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return issue(template, ca)
}

// issue creates a key and signs its certificate with the CA, or with the key itself if
// ca is nil.
func issue(template *x509.Certificate, ca *tls.Certificate) (tls.Certificate, error) {
	name := template.Subject.CommonName
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generate key of certificate %q: %w", name, err)
	}
	issuer, signer := template, crypto.PrivateKey(key)
	if ca != nil {
		issuer, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign certificate %q: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read back certificate %q: %w", name, err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, nil
}

// namesOf returns the DNS names and IP addresses of a serving certificate.
func namesOf(cert *x509.Certificate) []string {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
