package cli

import (
	"crypto/x509"
	"fmt"
	"io"
	"os"
)

// authoritiesFlag names the PEM file of certificate authorities.
const authoritiesFlag = "default-ca-certs"

// maxAuthorities is the most bytes that readAuthorities reads. The bundle of a Linux distribution has 220 kB.
const maxAuthorities = 8 << 20

// readAuthorities returns the PEM certificates in a file. An empty name gives no certificates.
func readAuthorities(name string) (text []byte, err error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", authoritiesFlag, err)
	}
	defer func() { _ = file.Close() }() // The file was only read.
	if text, err = io.ReadAll(io.LimitReader(file, maxAuthorities+1)); err != nil {
		return nil, fmt.Errorf("--%s: %w", authoritiesFlag, err)
	}
	switch {
	case len(text) > maxAuthorities:
		return nil, fmt.Errorf("--%s: %s has more than %d MiB", authoritiesFlag, name, maxAuthorities>>20)
	case !x509.NewCertPool().AppendCertsFromPEM(text):
		return nil, fmt.Errorf("--%s: %s has no PEM certificate", authoritiesFlag, name)
	}
	return text, nil
}
