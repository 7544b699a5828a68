package localcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// pollInterval is short because everything awaited is on this machine.
const pollInterval = 20 * time.Millisecond

// finalError ends a poll: trying again cannot help.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(err error) error { return finalError{err} }

func isFinal(err error) bool {
	_, ok := errors.AsType[finalError](err)
	return ok
}

// poll calls try until try returns nil or a final error (isFinal), or until ctx ends. poll returns
// the last error of try: context.DeadlineExceeded alone would not say which component was not
// ready.
func poll(ctx context.Context, try func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		err := try(ctx)
		if err == nil || isFinal(err) {
			return err
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// prober asks the health endpoints, as admin.
type prober struct{ client *http.Client }

func newProber(dir layout) (prober, error) {
	authority, err := os.ReadFile(dir.caCert())
	if err != nil {
		return prober{}, fmt.Errorf("read the authority's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	certificate, err := tls.LoadX509KeyPair(dir.cert(admin), dir.key(admin))
	if err != nil {
		return prober{}, fmt.Errorf("read the admin's certificate: %w", err)
	}
	return prober{client: &http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{
			// An idle connection would keep a goroutine after [Cluster.Stop], and goleak would fail
			// the test.
			DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{
				RootCAs: pool, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
			},
		},
	}}, nil
}

func (p prober) get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return final(err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, tailBytes))
	if err != nil {
		return err
	}
	return fmt.Errorf("%s answers %s: %s", url, response.Status, body)
}
