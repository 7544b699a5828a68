package azure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// Manifest tells what the committed files were made from, in SHA-256 hashes.
type Manifest struct {
	// Catalogue and Config are arm.catalogue and config.yaml.
	Catalogue string `json:"catalogue"`
	Config    string `json:"config"`
	// Packages are the files of the typed packages, below api/azure.
	Packages map[string]string `json:"packages"`
	// Sources are the schemas of the typed packages. The catalogue records those of all its kinds.
	Sources map[string]string `json:"sources"`
}

// NewManifest returns the Manifest of a catalogue, its file, and the files of the typed packages.
func NewManifest(c *catalogue.Catalogue, file []byte, packages map[string][]byte) ([]byte, error) {
	m := Manifest{
		Catalogue: Hash(file), Config: Hash(embedded), Packages: map[string]string{}, Sources: map[string]string{},
	}
	for _, k := range c.Kinds() {
		if k.Default {
			m.Sources[k.Source.Path] = k.Source.Hash
		}
	}
	for name, text := range packages {
		m.Packages[name] = Hash(text)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the manifest: %w", err)
	}
	return append(text, '\n'), nil
}

// Hash returns the SHA-256 of data in hexadecimal digits.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
