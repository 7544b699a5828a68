// Package secret reads Secrets, and tells whether their data changed, without keeping the data.
package secret

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/locked"
)

// Reader reads Secrets from the API server. A Reader remembers of each Secret only a version of its data, so that a
// label or a finalizer on the Secret does not look like a new password. The methods may be called concurrently.
type Reader struct {
	live client.Client
	key  []byte
	// known has the content of each Secret that was read.
	known locked.Map[types.NamespacedName, *content]
}

// content is the memory of a Secret, without the data of the Secret.
type content struct {
	// seen is the resourceVersion that the caller knew at the last reading, and live that of the API server.
	seen, live string
	// version is the first resourceVersion with the same data.
	version string
	// sum is a hash of the data with Reader.key, which no other process has.
	sum [sha256.Size]byte
}

// NewReader returns a Reader. live reads without a cache.
func NewReader(live client.Client) *Reader {
	r := &Reader{live: live, key: make([]byte, sha256.Size)}
	_, _ = rand.Read(r.key) // It never fails, by its documentation.
	return r
}

// Read returns the data of a Secret and the version of the data: a resourceVersion since which the Reader saw no other
// data. A Secret that does not exist has neither. seen is the resourceVersion that the caller has in a cache, or "".
func (r *Reader) Read(
	ctx context.Context, key types.NamespacedName, seen string,
) (data map[string][]byte, version string, err error) {
	var s corev1.Secret
	if err := r.live.Get(ctx, key, &s); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, "", nil
		}
		return nil, "", fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	found := &content{seen: seen, live: s.ResourceVersion, version: s.ResourceVersion, sum: r.sum(&s)}
	if before := r.known.Get(key); before != nil && before.sum == found.sum {
		found.version = before.version
	}
	r.known.Store(key, found)
	return s.Data, found.version, nil
}

// Version returns the version that [Reader.Read] returns. Version sends a request only if seen is a resourceVersion
// that the Reader does not know.
func (r *Reader) Version(ctx context.Context, key types.NamespacedName, seen string) (string, error) {
	if known := r.known.Get(key); known != nil && seen != "" && (known.seen == seen || known.live == seen) {
		return known.version, nil
	}
	_, version, err := r.Read(ctx, key, seen)
	return version, err
}

// Forget drops the content of a deleted Secret.
func (r *Reader) Forget(key types.NamespacedName) { r.known.Delete(key) }

func (r *Reader) sum(s *corev1.Secret) (sum [sha256.Size]byte) {
	hash := hmac.New(sha256.New, r.key)
	_ = json.NewEncoder(hash).Encode([]any{s.UID, s.Data}) // Neither a hash nor such a value can fail.
	copy(sum[:], hash.Sum(nil))
	return sum
}
