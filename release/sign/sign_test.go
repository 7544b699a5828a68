package sign_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/kinship-dev/kinship/release/sign"
)

const repository = "registry.example/kinship"

// keys writes a new pair of keys, and returns both as read back.
func keys(t *testing.T) (*ecdsa.PrivateKey, *ecdsa.PublicKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	write := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	private, err := sign.LoadPrivate(write("PRIVATE KEY", der, err))
	if err != nil {
		t.Fatal(err)
	}
	der, err = x509.MarshalPKIXPublicKey(key.Public())
	public, err := sign.LoadPublic(write("PUBLIC KEY", der, err))
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

// images writes a layout with two images, and returns the digests.
func images(t *testing.T) (dir string, one, other v1.Hash) {
	t.Helper()
	dir = t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	digests := make([]v1.Hash, 0, 2)
	for range 2 {
		index, err := random.Index(1024, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := path.AppendIndex(index); err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	return dir, digests[0], digests[1]
}

// refused checks that an error is a refused signature, not another failure such as a missing file.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if !sign.Refused(err) {
		t.Errorf("%s: %v, want a refusal", what, err)
	}
}

// TestImage: a signed image is accepted only with the right key, repository and digest.
func TestImage(t *testing.T) {
	private, public := keys(t)
	_, stranger := keys(t)
	dir, digest, other := images(t)
	refused(t, "no signature", sign.VerifyImage(public, dir, repository, digest))
	for range 2 { // The second signature replaces the first.
		if err := sign.Image(private, dir, repository, digest); err != nil {
			t.Fatal(err)
		}
	}
	if err := sign.VerifyImage(public, dir, repository, digest); err != nil {
		t.Errorf("a signed image is refused: %v", err)
	}
	refused(t, "another key", sign.VerifyImage(stranger, dir, repository, digest))
	refused(t, "another repository", sign.VerifyImage(public, dir, "registry.example/other", digest))
	refused(t, "another image", sign.VerifyImage(public, dir, repository, other))
}

// TestSignatureOfAnother: the signature of one image under the tag of another image's is refused.
func TestSignatureOfAnother(t *testing.T) {
	private, public := keys(t)
	dir, digest, other := images(t)
	if err := sign.Image(private, dir, repository, digest); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "index.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("sha256-"+digest.Hex), []byte("sha256-"+other.Hex))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "the signature of another image", sign.VerifyImage(public, dir, repository, other))
}

// TestTamperedImage: an image with one changed blob is refused, for each blob of the image.
func TestTamperedImage(t *testing.T) {
	private, public := keys(t)
	dir, digest, _ := images(t)
	if err := sign.Image(private, dir, repository, digest); err != nil {
		t.Fatal(err)
	}
	blobs := filepath.Join(dir, "blobs", "sha256")
	for _, name := range blobsOf(t, dir, digest) {
		file := filepath.Join(blobs, name)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(before)
		changed[len(changed)/2] ^= 1
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, "blob "+name+" is changed", sign.VerifyImage(public, dir, repository, digest))
		if err := os.WriteFile(file, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := sign.VerifyImage(public, dir, repository, digest); err != nil {
		t.Errorf("the image as before is refused: %v", err)
	}
}

// blobsOf returns the blobs of an image: index, manifests, configurations and layers.
func blobsOf(t *testing.T, dir string, digest v1.Hash) []string {
	t.Helper()
	root, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	index, err := root.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{digest.Hex}
	for _, d := range manifest.Manifests {
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Digest.Hex, m.Config.Digest.Hex)
		for _, l := range m.Layers {
			names = append(names, l.Digest.Hex)
		}
	}
	return names
}

// TestStatement: a signed statement is returned. With another key, content or type, the statement is
// refused.
func TestStatement(t *testing.T) {
	private, public := keys(t)
	_, stranger := keys(t)
	statement := []byte(`{"_type": "https://in-toto.io/Statement/v1"}`)
	envelope, err := sign.Statement(private, statement)
	if err != nil {
		t.Fatal(err)
	}
	got, err := sign.VerifyStatement(public, envelope)
	if err != nil || !bytes.Equal(got, statement) {
		t.Errorf("got %s, %v", got, err)
	}
	_, err = sign.VerifyStatement(stranger, envelope)
	refused(t, "another key", err)
	other, err := sign.Statement(private, []byte(`{"_type": "other"}`))
	if err != nil {
		t.Fatal(err)
	}
	lines, others := strings.Split(string(envelope), "\n"), strings.Split(string(other), "\n")
	for i, line := range lines {
		if strings.Contains(line, `"payload":`) {
			lines[i] = others[i]
		}
	}
	_, err = sign.VerifyStatement(public, []byte(strings.Join(lines, "\n")))
	refused(t, "another content", err)
	_, err = sign.VerifyStatement(public, []byte(strings.ReplaceAll(string(envelope), "in-toto", "other")))
	refused(t, "another type", err)
	_, err = sign.VerifyStatement(public, []byte(`{"payloadType": "application/vnd.in-toto+json"}`))
	refused(t, "no signature", err)
}

// TestWrongKeys: the error for a file without a key of the right kind names the file.
func TestWrongKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wrong.pem")
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sign.LoadPrivate(file); err == nil || !strings.Contains(err.Error(), "wrong.pem") {
		t.Errorf("private: %v", err)
	}
	if _, err := sign.LoadPublic(file); err == nil || !strings.Contains(err.Error(), "wrong.pem") {
		t.Errorf("public: %v", err)
	}
}
