package azure

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	defaultTimeout = time.Minute
	// defaultMaxAnswer is twice the size of a request that ARM accepts.
	defaultMaxAnswer = 8 << 20
	maxHeader        = 256 << 10
	maxRedirects     = 5
)

// HostError says that an answer led to another host than Options.Endpoint, or by redirect to
// another method. The client sent no request there.
type HostError struct {
	// Address is the address in the answer, without its query.
	Address string
}

// Error implements error.
func (e *HostError) Error() string {
	return "ARM redirected the request to " + e.Address + ", which is not followed"
}

// TooMuchError says that an answer is longer than Options.MaxAnswer.
type TooMuchError struct {
	// Most is the bound, in bytes.
	Most int64
}

// Error implements error.
func (e *TooMuchError) Error() string {
	return fmt.Sprintf("an answer of ARM is longer than %d KiB", e.Most>>10)
}

// transport sends requests, and bounds their answers.
type transport struct {
	client    *http.Client
	maxAnswer int64
}

// pool has the connections of all clients without an Options.Transport. A connection has no
// credentials: each request has its own.
var pool = sync.OnceValue(func() http.RoundTripper {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		MaxIdleConns: 100, MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: maxHeader,
	}
})

func newTransport(endpoint *url.URL, options Options) *transport {
	base := options.Transport
	if base == nil {
		base = pool()
	}
	if options.Trace != nil {
		base = options.Trace(base)
	}
	return &transport{
		maxAnswer: cmp.Or(options.MaxAnswer, defaultMaxAnswer),
		client: &http.Client{
			Transport: base,
			// Timeout covers the body too: runtime.Pipeline reads the body before it returns.
			Timeout: cmp.Or(options.Timeout, defaultTimeout),
			CheckRedirect: func(next *http.Request, via []*http.Request) error {
				if len(via) >= maxRedirects {
					return errors.New("too many redirects")
				}
				if !sameHost(endpoint, next.URL) || next.Method != via[0].Method {
					return &HostError{next.URL.Scheme + "://" + next.URL.Host + next.URL.Path}
				}
				return nil
			},
		},
	}
}

// Do implements policy.Transporter.
func (t *transport) Do(request *http.Request) (*http.Response, error) {
	response, err := t.client.Do(request)
	if err != nil {
		if response != nil {
			_ = response.Body.Close() // A refused redirect has an answer beside the error.
		}
		return nil, quietError{err}
	}
	response.Body = &bounded{response.Body, t.maxAnswer, t.maxAnswer}
	return response, nil
}

// bounded is a body that returns TooMuchError after `most` bytes.
type bounded struct {
	io.ReadCloser

	left, most int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	// The extra byte shows whether the answer is longer than `most`.
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if int64(n) > b.left {
		return 0, &TooMuchError{b.most}
	}
	b.left -= int64(n)
	return n, err
}

// sameHost reports whether a and b have the same scheme, host and port.
func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(hostPort(a), hostPort(b))
}

func hostPort(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
	return u.Hostname() + ":" + port
}

// CheckEndpoint returns an error if [NewClient] would refuse an Options.Endpoint, with or without a credential that
// requests tokens.
func CheckEndpoint(endpoint string, tokens bool) error {
	configuration, err := cloudFor(endpoint, "", tokens)
	if err != nil {
		return err
	}
	_, err = parseEndpoint(configuration.Services[resourceManager].Endpoint)
	return err
}

// parseEndpoint parses the address of ARM.
func parseEndpoint(text string) (*url.URL, error) {
	endpoint, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil {
		return nil, err
	}
	if (endpoint.Scheme != "http" && endpoint.Scheme != "https") || endpoint.Host == "" || endpoint.RawQuery != "" ||
		endpoint.User != nil || endpoint.Fragment != "" {
		return nil, fmt.Errorf("the endpoint %s is no address such as https://management.azure.com", quote(text))
	}
	return endpoint, nil
}
