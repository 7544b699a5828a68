package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Keys of the Secret. ca.crt, tls.crt and tls.key are the usual ones, so that
// other tools find what they look for.
const (
	keyBundle     = "ca.crt"
	keySigner     = "ca.key"
	keyIncoming   = "next-ca.key"
	keyServing    = corev1.TLSCertKey
	keyServingKey = corev1.TLSPrivateKeyKey
	keyRecord     = "rotation.json"
	keyPath       = "path"
)

// leastPath is how long the secret path is at least: as long as rand.Text, whose
// 26 letters are 128 bits.
const leastPath = 26

// maxBundle bounds what is read: signer, incoming and the retiring ones.
const maxBundle = 2 + maxRetiring

// record is the bookkeeping that certificates cannot hold. It lives in the data
// and not in annotations, which more people may write.
type record struct {
	PublishedAt time.Time       `json:"publishedAt,omitzero"`
	LastExpiry  time.Time       `json:"lastExpiry"`
	Retiring    []retiringEntry `json:"retiring,omitempty"`
}

type retiringEntry struct {
	SHA256 string    `json:"sha256"`
	Until  time.Time `json:"until"`
}

// encode returns the data of the Secret; decode reads it back.
func (s *state) encode() (map[string][]byte, error) {
	rec := record{PublishedAt: s.publishedAt, LastExpiry: s.lastExpiry}
	for _, r := range s.retiring {
		rec.Retiring = append(rec.Retiring, retiringEntry{SHA256: fingerprint(r.cert), Until: r.until})
	}
	keys := map[string]*ecdsa.PrivateKey{keySigner: s.signer.key, keyServingKey: s.serving.key}
	if s.incoming != nil {
		keys[keyIncoming] = s.incoming.key
	}
	data := map[string][]byte{
		keyBundle:  encodeCerts(s.bundle()),
		keyServing: encodeCerts([]*x509.Certificate{s.serving.cert}),
		keyPath:    []byte(s.path),
	}
	for name, key := range keys {
		encoded, err := encodeKey(key)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		data[name] = encoded
	}
	var err error
	if data[keyRecord], err = json.Marshal(rec); err != nil {
		return nil, fmt.Errorf("encode %s: %w", keyRecord, err)
	}
	return data, nil
}

// decode reads what encode wrote and checks that its parts belong together, so
// that no half-edited Secret is ever served from.
func decode(data map[string][]byte) (*state, error) {
	certs, err := decodeCerts(data[keyBundle], maxBundle)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyBundle, err)
	}
	var rec record
	if err := json.Unmarshal(data[keyRecord], &rec); err != nil {
		return nil, fmt.Errorf("read %s: %w", keyRecord, err)
	}
	s := &state{publishedAt: rec.PublishedAt, lastExpiry: rec.LastExpiry, path: string(data[keyPath])}
	if len(s.path) < leastPath || url.PathEscape(s.path) != s.path {
		return nil, fmt.Errorf("read %s: it is not a secret part of a path", keyPath)
	}
	if s.signer, err = decodePair(certs, data, keySigner); err != nil {
		return nil, err
	}
	if _, announced := data[keyIncoming]; announced {
		incoming, err := decodePair(certs, data, keyIncoming)
		if err != nil {
			return nil, err
		}
		s.incoming = &incoming
	}
	serving, err := decodeCerts(data[keyServing], 1)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyServing, err)
	}
	if s.serving, err = decodePair(serving, data, keyServingKey); err != nil {
		return nil, err
	}
	if err := s.serving.cert.CheckSignatureFrom(s.signer.cert); err != nil {
		return nil, fmt.Errorf("%s is not signed by the authority of %s: %w", keyServing, keySigner, err)
	}
	s.lastExpiry = later(s.lastExpiry, s.serving.cert.NotAfter)
	s.retiring = rec.retirees(certs, s)
	return s, nil
}

// retirees returns every CA of the bundle without another role. One that the
// record does not know (somebody added it) stays until it expires.
func (rec record) retirees(certs []*x509.Certificate, s *state) []retiree {
	until := map[string]time.Time{}
	for _, entry := range rec.Retiring {
		until[entry.SHA256] = entry.Until
	}
	var retiring []retiree
	for _, cert := range certs {
		if cert.Equal(s.signer.cert) || s.incoming != nil && cert.Equal(s.incoming.cert) {
			continue
		}
		r := retiree{cert: cert, until: cert.NotAfter}
		if t := until[fingerprint(cert)]; !t.IsZero() {
			r.until = t
		}
		retiring = append(retiring, r)
	}
	return retiring
}

// decodePair reads a private key and finds the certificate it belongs to.
func decodePair(certs []*x509.Certificate, data map[string][]byte, name string) (pair, error) {
	block, _ := pem.Decode(data[name])
	if block == nil {
		return pair{}, fmt.Errorf("read %s: no PEM block in it", name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return pair{}, fmt.Errorf("read %s: %w", name, err)
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA {
		return pair{}, fmt.Errorf("read %s: it is not an ECDSA key", name)
	}
	for _, cert := range certs {
		if key.PublicKey.Equal(cert.PublicKey) {
			return pair{cert: cert, key: key}, nil
		}
	}
	return pair{}, fmt.Errorf("read %s: no certificate belongs to it", name)
}

func decodeCerts(text []byte, limit int) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if len(certs) == limit {
			return nil, fmt.Errorf("it holds more than %d certificates", limit)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate %d: %w", len(certs)+1, err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate is in it")
	}
	return certs, nil
}

func encodeCerts(certs []*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, cert := range certs {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
	}
	return text.Bytes()
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
