package image

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// trickle brings some bytes at a time, until its request is given up.
type trickle struct {
	io.Reader

	request *http.Request
	some    int
	each    time.Duration
}

// Read implements io.Reader.
func (r trickle) Read(p []byte) (int, error) {
	<-time.After(r.each) // In a bubble.
	if err := r.request.Context().Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p[:min(r.some, len(p))])
}

// wire is an http.RoundTripper.
type wire func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// glance accepts a number of bytes each 10 s, and then needs a time to store them.
func glance(some int, stores time.Duration) wire {
	return func(r *http.Request) (*http.Response, error) {
		for part := make([]byte, some); ; {
			_, err := io.ReadFull(r.Body, part)
			if r.Context().Err() != nil {
				return nil, r.Context().Err()
			}
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			<-time.After(10 * time.Second)
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(stores):
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
		}
	}
}

// TestSlow: a content that trickles soon gives up its slot. A content that is only slow does
// not.
func TestSlow(t *testing.T) {
	t.Parallel()
	zeros := bytes.Repeat([]byte{0}, 64<<20)
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	if _, err := w.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	gz := new("gz")
	cases := map[string]struct {
		content    []byte
		some       int
		decompress *string
		takes      int
		stores     time.Duration
		slow       bool
	}{
		"a byte at a time":               {content: zeros[:600], some: 1, takes: 1 << 20, slow: true},
		"a MiB and more a minute":        {content: zeros[:10<<20], some: 256 << 10, takes: 1 << 20},
		"a small one":                    {content: zeros[:600], some: 600, takes: 1 << 20},
		"Glance takes it byte by byte":   {content: zeros[:600], some: 600, takes: 1, slow: true},
		"Glance takes long to store it":  {content: zeros[:600], some: 600, takes: 600, stores: 4 * time.Minute},
		"much is made of little, slowly": {content: small.Bytes(), some: 1 << 20, decompress: gz, takes: 256 << 10},
		"or all too slowly":              {content: small.Bytes(), some: 1 << 20, decompress: gz, takes: 1 << 10, slow: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				source := func(r *http.Request) (*http.Response, error) {
					body := io.NopCloser(trickle{bytes.NewReader(c.content), r, c.some, 10 * time.Second})
					return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
				}
				client := &gophercloud.ServiceClient{
					Endpoint: "http://glance.example/",
					ProviderClient: &gophercloud.ProviderClient{
						HTTPClient: http.Client{Transport: glance(c.takes, c.stores)},
					},
				}
				a := actuator{
					Actuator: kit.Actuator[object]{Table: &table, Client: client},
					outside:  &http.Client{Transport: wire(source)},
				}
				err := a.stream(t.Context(), "id", openstackv1alpha1.ImageDownload{
					URL: "http://source.example/", Decompress: c.decompress,
				})
				if errors.Is(err, errSlow) != c.slow || !c.slow && err != nil {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(begin); c.slow && took > 2*time.Minute {
					t.Errorf("it had its place for %s", took)
				}
			})
		})
	}
}
