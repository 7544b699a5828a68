package localcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// Names of certificates. A program's certificates carry the program's name.
const (
	serving = "serving"
	admin   = "admin"
)

// subjects are the users of the certificates. The API server's built-in role bindings name
// these users.
var subjects = map[string]pkix.Name{
	serving:           {CommonName: "kinship-local"},
	admin:             {CommonName: "kinship-admin", Organization: []string{"system:masters"}},
	ControllerManager: {CommonName: "system:kube-controller-manager"},
	Scheduler:         {CommonName: "system:kube-scheduler"},
}

// authority signs certificates. The key of the authority is never written to a file, so no other
// certificate can be signed after [Start].
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// writePKI makes an authority, a certificate for each subject and the key that
// signs service account tokens.
func writePKI(dir layout) error {
	ca, err := newAuthority(dir)
	if err != nil {
		return err
	}
	for name, subject := range subjects {
		if err := ca.issue(dir, name, subject); err != nil {
			return fmt.Errorf("issue the certificate %s: %w", name, err)
		}
	}
	key, err := newKey(dir.serviceAccountKey())
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	return writePEM(dir.serviceAccountPublicKey(), "PUBLIC KEY", public)
}

func newAuthority(dir layout) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("generate the authority's key: %w", err)
	}
	template := certificateTemplate(pkix.Name{CommonName: "kinship-local-ca"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, fmt.Errorf("create the authority's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("parse the authority's certificate: %w", err)
	}
	return authority{cert: cert, key: key}, writePEM(dir.caCert(), "CERTIFICATE", der)
}

func (a authority) issue(dir layout, name string, subject pkix.Name) error {
	key, err := newKey(dir.key(name))
	if err != nil {
		return err
	}
	template := certificateTemplate(subject)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if name == serving {
		// etcd also uses its serving certificate as a client of itself, so the certificate needs
		// ServerAuth and ClientAuth.
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePEM(dir.cert(name), "CERTIFICATE", der)
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		Subject:      subject,
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
}

func newKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	// kube-controller-manager (--service-account-private-key-file) reads an EC key only in the
	// encoding SEC 1 (EC PRIVATE KEY).
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return key, writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
