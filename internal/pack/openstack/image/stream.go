package image

import (
	"bufio"
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"crypto/md5"  // people may name any of these
	"crypto/sha1" // people may name any of these
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

var errSlow = fmt.Errorf("download: less than %d MiB came and went within %s", least>>20, every)

// stream downloads a content and uploads the bytes to Glance at the same time (PUT
// /v2/images/ID/file).
func (a actuator) stream(ctx context.Context, id string, from openstackv1alpha1.ImageDownload) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.URL, nil)
	if err != nil {
		return &external.Error{Class: external.Invalid, Message: "the URL can't be read"}
	}
	watchdog := watch(func() { fail(errSlow) })
	defer func() { watchdog.stop() }()
	response, err := a.outside.Do(request)
	if _, refused := errors.AsType[*openstack.HostError](err); refused {
		return kit.Explain(err)
	}
	if err != nil {
		return fmt.Errorf("download: %w", cmp.Or(context.Cause(ctx), err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("download %s: %d %s", from.URL, response.StatusCode, http.StatusText(response.StatusCode))
	}
	first := bufio.NewReader(response.Body)
	if _, err := first.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("download: %w", cmp.Or(context.Cause(ctx), err))
	}
	watchdog.stop()
	if err := answered(ctx); err != nil { // The stream may wait for a free slot in the pool.
		return fmt.Errorf("download: %w", err)
	}
	watchdog = watch(func() { fail(errSlow) })
	content, err := newContent(watched{Reader: first, watchdog: watchdog}, from, fail)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	// The upload has no Content-Length, so Glance needs the end of the chunked body
	// (Transfer-Encoding): Glance drops a body that ends without it.
	uploaded, err := a.Client.Request(ctx, http.MethodPut, a.URL(id, "file"), &gophercloud.RequestOpts{
		RawBody: watched{content, watchdog, true}, OkCodes: []int{http.StatusNoContent},
		MoreHeaders: map[string]string{"Content-Type": "application/octet-stream"},
	})
	if err != nil {
		return cmp.Or(context.Cause(ctx), kit.Explain(err))
	}
	_ = uploaded.Body.Close() // The body is empty.
	return nil
}

// content is the body of the upload. Read returns io.EOF only if the hash is right.
type content struct {
	io.Reader // the decompressed content

	raw    io.Reader // the download
	hash   hash.Hash // of the bytes read from raw; nil without ImageDownload.Hash
	wanted *openstackv1alpha1.ImageHash
	fail   func(error) // is called with the error of a failed Read
}

func newContent(from io.Reader, d openstackv1alpha1.ImageDownload, fail func(error)) (*content, error) {
	c := &content{raw: from, wanted: d.Hash, fail: fail}
	if d.Hash != nil {
		c.hash = map[string]func() hash.Hash{
			"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New,
		}[d.Hash.Algorithm]()
		c.raw = io.TeeReader(from, c.hash)
	}
	var err error
	c.Reader, err = decompressed(bufio.NewReaderSize(c.raw, 1<<20), d.Decompress)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return c, nil
}

func decompressed(r io.Reader, how *string) (io.Reader, error) {
	if how == nil {
		return r, nil
	}
	switch *how {
	case "gz":
		return gzip.NewReader(r)
	case "bz2":
		return bzip2.NewReader(r), nil
	default:
		return unxz(r)
	}
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = c.verify()
		if err == nil {
			return n, io.EOF
		}
		n = 0
	}
	if err != nil {
		c.fail(err)
	}
	return n, err
}

// verify compares the hash with spec.resource.content.download.hash. Bytes behind the end of the
// compressed data are part of the hash.
func (c *content) verify() error {
	if c.hash == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, c.raw); err != nil {
		return fmt.Errorf("download: %w", err)
	}
	if got := hex.EncodeToString(c.hash.Sum(nil)); got != c.wanted.Value {
		return &external.Error{Class: external.Invalid, Message: fmt.Sprintf(
			"the %s of what was downloaded is %s, not %s", c.wanted.Algorithm, got, c.wanted.Value)}
	}
	return nil
}
