package sign

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	payloadMedia        = types.MediaType("application/vnd.dev.cosign.simplesigning.v1+json")
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	refName             = "org.opencontainers.image.ref.name"
)

// payload is the signed text: the digest of an image and the repository of the image.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

const payloadKind = "cosign container image signature"

// tagOf returns the tag of the signature of an image: sha256-DIGEST.sig.
func tagOf(digest v1.Hash) string { return digest.Algorithm + "-" + digest.Hex + ".sig" }

// Image signs an image of an OCI layout, as the image of a repository, and writes the signature
// into the OCI layout. The new signature replaces an older signature of the image.
func Image(key *ecdsa.PrivateKey, dir, repository string, digest v1.Hash) error {
	var p payload
	p.Critical.Identity.Reference, p.Critical.Image.Digest, p.Critical.Type = repository, digest.String(), payloadKind
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write signature: %w", err)
	}
	made, err := signature(key, text)
	if err != nil {
		return err
	}
	img, err := mutate.Append(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{
			Layer: static.NewLayer(text, payloadMedia), MediaType: payloadMedia,
			Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(made)},
		})
	if err != nil {
		return fmt.Errorf("write signature: %w", err)
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		return fmt.Errorf("open layout: %w", err)
	}
	err = path.ReplaceImage(img, match.Annotation(refName, tagOf(digest)),
		layout.WithAnnotations(map[string]string{refName: tagOf(digest)}))
	if err != nil {
		return fmt.Errorf("write signature: %w", err)
	}
	return nil
}

// VerifyImage returns an error unless the OCI layout contains all blobs of the image unchanged, and
// a signature by the key for this digest and this repository.
func VerifyImage(key *ecdsa.PublicKey, dir, repository string, digest v1.Hash) error {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return fmt.Errorf("open layout: %w", err)
	}
	if err := verifySignature(key, index, repository, digest); err != nil {
		return err
	}
	return verifyBlobs(layout.Path(dir), digest, types.OCIImageIndex)
}

// verifyBlobs compares a blob with its digest. If the blob is an index or a manifest, verifyBlobs
// also compares all blobs that the blob names.
func verifyBlobs(dir layout.Path, digest v1.Hash, media types.MediaType) error {
	text, err := dir.Bytes(digest)
	if err != nil {
		return fmt.Errorf("%w: read blob %s: %w", errRefused, digest, err)
	}
	if got, _, err := v1.SHA256(bytes.NewReader(text)); err != nil || got != digest {
		return fmt.Errorf("%w: blob %s was changed", errRefused, digest)
	}
	if !media.IsIndex() && !media.IsImage() {
		return nil
	}
	var named struct {
		Config    *v1.Descriptor  `json:"config"`
		Layers    []v1.Descriptor `json:"layers"`
		Manifests []v1.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return fmt.Errorf("%w: read blob %s: %w", errRefused, digest, err)
	}
	all := slices.Concat(named.Manifests, named.Layers)
	if named.Config != nil {
		all = append(all, *named.Config)
	}
	for _, d := range all {
		if err := verifyBlobs(dir, d.Digest, d.MediaType); err != nil {
			return err
		}
	}
	return nil
}

// verifySignature looks for the manifest tagOf(digest), and calls verifyLayers.
func verifySignature(key *ecdsa.PublicKey, index v1.ImageIndex, repository string, digest v1.Hash) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("read layout: %w", err)
	}
	for _, d := range manifest.Manifests {
		if d.Annotations[refName] != tagOf(digest) {
			continue
		}
		img, err := index.Image(d.Digest)
		if err != nil {
			return fmt.Errorf("%w: read signature: %w", errRefused, err)
		}
		return verifyLayers(key, img, repository, digest)
	}
	return fmt.Errorf("%w: image %s has no signature", errRefused, digest)
}

// verifyLayers checks all signatures of a manifest: one signature by the key is enough.
func verifyLayers(key *ecdsa.PublicKey, img v1.Image, repository string, digest v1.Hash) error {
	manifest, err := img.Manifest()
	if err != nil {
		return fmt.Errorf("%w: read signature: %w", errRefused, err)
	}
	last := fmt.Errorf("%w: the signature is empty", errRefused)
	for _, d := range manifest.Layers {
		made, err := base64.StdEncoding.DecodeString(d.Annotations[signatureAnnotation])
		if err != nil {
			last = fmt.Errorf("%w: read signature: %w", errRefused, err)
			continue
		}
		if last = verifyLayer(key, img, d.Digest, made, repository, digest); last == nil {
			return nil
		}
	}
	return last
}

// verifyLayer checks one signature of a manifest: the layer is the payload, and `made` is the
// signature.
func verifyLayer(
	key *ecdsa.PublicKey, img v1.Image, layer v1.Hash, made []byte, repository string, digest v1.Hash,
) error {
	l, err := img.LayerByDigest(layer)
	if err != nil {
		return fmt.Errorf("%w: read signature: %w", errRefused, err)
	}
	r, err := l.Compressed()
	if err != nil {
		return fmt.Errorf("%w: read signature: %w", errRefused, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%w: read signature: %w", errRefused, err)
	}
	if err := check(key, text, made); err != nil {
		return err
	}
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("%w: read signature: %w", errRefused, err)
	}
	if p.Critical.Type != payloadKind || p.Critical.Image.Digest != digest.String() ||
		p.Critical.Identity.Reference != repository {
		return fmt.Errorf("%w: the signature is for %s of %s",
			errRefused, p.Critical.Image.Digest, p.Critical.Identity.Reference)
	}
	return nil
}
