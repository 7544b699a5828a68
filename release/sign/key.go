package sign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// errRefused is the cause of every refusal to accept a signature.
var errRefused = errors.New("signature refused")

// Refused reports whether an error says that a signature is wrong or missing (errRefused).
func Refused(err error) bool { return errors.Is(err, errRefused) }

// LoadPrivate reads a private key: PKCS 8 in PEM, on an elliptic curve, as `openssl genpkey
// -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes the key.
func LoadPrivate(file string) (*ecdsa.PrivateKey, error) {
	der, err := loadPEM(file, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read private key %s: %w", file, err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read private key %s: it is no ECDSA key", file)
	}
	return private, nil
}

// LoadPublic reads a public key: PKIX in PEM, as `openssl pkey -pubout` writes the key.
func LoadPublic(file string) (*ecdsa.PublicKey, error) {
	der, err := loadPEM(file, "PUBLIC KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("read public key %s: %w", file, err)
	}
	public, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("read public key %s: it is no ECDSA key", file)
	}
	return public, nil
}

func loadPEM(file, kind string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("read key %s: it holds no PEM block %s", file, kind)
	}
	return block.Bytes, nil
}

// signature returns the ECDSA signature of a payload.
func signature(key *ecdsa.PrivateKey, payload []byte) ([]byte, error) {
	sum := sha256.Sum256(payload)
	made, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return made, nil
}

// check returns an error unless `made` is a signature of the payload by the key.
func check(key *ecdsa.PublicKey, payload, made []byte) error {
	sum := sha256.Sum256(payload)
	if !ecdsa.VerifyASN1(key, sum[:], made) {
		return fmt.Errorf("%w: another key or another content", errRefused)
	}
	return nil
}
