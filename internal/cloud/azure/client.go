package azure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	armruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Options of a [Client]. The zero value is for Azure's public cloud without credentials.
type Options struct {
	// Endpoint is the address of ARM, https://management.azure.com when empty. An address of
	// another cloud than Azure's public, government and China clouds needs an Audience, if
	// Credential is set.
	Endpoint string
	// Audience is the audience of tokens; empty means the audience of the Endpoint's cloud.
	Audience string
	// Credential gets tokens. With nil, the client sends no header Authorization, for the emulator.
	Credential azcore.TokenCredential
	// Timeout bounds a request with its login and its answer; 0 means a minute.
	Timeout time.Duration
	// MaxAnswer bounds the body of an answer in bytes; 0 means 8 MiB.
	MaxAnswer int64
	// Transport sends requests; nil means the transport in pool, which all such clients share.
	Transport http.RoundTripper
	// Trace wraps the Transport. Trace may be nil.
	Trace func(http.RoundTripper) http.RoundTripper
	// Observe is called after each request. Observe may be nil.
	Observe func(Call)
}

// Call is a request to ARM, for counters and histograms.
type Call struct {
	Method string
	// Type is the type of the resource, or "operation" for a Poll.
	Type string
	// Status is the HTTP status, or 0 without an answer.
	Status   int
	Duration time.Duration
}

// Client reads, writes and deletes resources by [ID]. A Client never retries and never waits
// between requests: the caller's queue does both. A Client is safe for concurrent use.
type Client struct {
	pipeline runtime.Pipeline
	close    func()
	endpoint *url.URL
	timeout  time.Duration
	observe  func(Call)
}

// NewClient returns a [Client]. NewClient sends no request.
func NewClient(options Options) (*Client, error) {
	configuration, err := cloudOf(options)
	if err != nil {
		return nil, fmt.Errorf("make a client of Azure: %w", err)
	}
	endpoint, err := parseEndpoint(configuration.Services[resourceManager].Endpoint)
	if err != nil {
		return nil, fmt.Errorf("make a client of Azure: %w", err)
	}
	transport := newTransport(endpoint, options)
	pipeline, err := armruntime.NewPipeline("kinship", "v1", options.Credential, runtime.PipelineOptions{},
		&arm.ClientOptions{
			DisableRPRegistration: true, // It would register providers and wait for minutes, unasked.
			ClientOptions: policy.ClientOptions{
				Cloud:     configuration,
				Retry:     policy.RetryOptions{MaxRetries: -1},
				Telemetry: policy.TelemetryOptions{ApplicationID: "kinship"},
				Transport: transport,
			},
		})
	if err != nil {
		return nil, fmt.Errorf("make a client of Azure: %w", err)
	}
	return &Client{
		pipeline: pipeline, close: transport.client.CloseIdleConnections, endpoint: endpoint,
		timeout: transport.client.Timeout, observe: options.Observe,
	}, nil
}

// Close closes the idle connections of Options.Transport. The [Client] can still be used.
func (c *Client) Close() { c.close() }

// Condition makes a Put depend on the state of the resource. The zero value has no condition.
type Condition struct {
	// ETag is the ETag of the resource as read: a Put of a resource with another ETag fails with
	// RetrySoon.
	ETag string
	// Absent lets a Put succeed only if the resource does not exist.
	Absent bool
}

// Get returns a resource. If the resource does not exist, the error is of the class [Missing].
func (c *Client) Get(ctx context.Context, id ID, version string) (Answer, error) {
	m, err := c.send(ctx, http.MethodGet, id, version, nil, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("read %s: %w", id, err)
	}
	if m.body == nil {
		return Answer{}, fmt.Errorf("read %s: %w", id, m.unreadable())
	}
	return Answer{Body: m.body, ETag: m.etag()}, nil
}

// Put creates or replaces a resource. An [Answer] with an Operation says that ARM is still carrying
// out the request; see [Client.Poll]. An error with [Failure.Ended] says that the operation failed
// at once.
func (c *Client) Put(ctx context.Context, id ID, version string, body map[string]any, only Condition) (Answer, error) {
	header := http.Header{}
	if only.ETag != "" {
		header.Set("If-Match", only.ETag)
	}
	if only.Absent {
		header.Set("If-None-Match", "*")
	}
	answer, err := c.begin(ctx, http.MethodPut, id, version, body, header)
	if err != nil {
		return Answer{}, fmt.Errorf("put %s: %w", id, err)
	}
	return answer, nil
}

// Delete deletes a resource. If the resource does not exist, the error is of the class [Missing].
func (c *Client) Delete(ctx context.Context, id ID, version string) (Answer, error) {
	answer, err := c.begin(ctx, http.MethodDelete, id, version, nil, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("delete %s: %w", id, err)
	}
	return answer, nil
}

// begin sends a request that may begin an [Operation].
func (c *Client) begin(
	ctx context.Context, method string, id ID, version string, body map[string]any, header http.Header,
) (Answer, error) {
	m, err := c.send(ctx, method, id, version, body, header)
	if err != nil {
		return Answer{}, err
	}
	return m.begun(Operation{Method: method, ID: id, Version: version}, c.owns)
}

// send sends a request for a resource, and returns an answer of success.
func (c *Client) send(
	ctx context.Context, method string, id ID, version string, body map[string]any, header http.Header,
) (message, error) {
	if id.IsTenant() {
		return message{}, errors.New("the tenant is no resource that can be requested")
	}
	address := *c.endpoint
	address.Path += id.String()
	address.RawQuery = url.Values{"api-version": {version}}.Encode()
	return c.request(ctx, method, id.Type(), &address, body, header)
}

// request sends a request, and returns an answer of success. Any other answer is an *Error.
func (c *Client) request(
	ctx context.Context, method, typ string, address *url.URL, body map[string]any, header http.Header,
) (message, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout) // A login may hang too.
	defer cancel()
	rq, err := runtime.NewRequest(ctx, method, address.String())
	if err != nil {
		return message{}, err
	}
	for key := range header {
		rq.Raw().Header.Set(key, header.Get(key))
	}
	rq.Raw().Header.Set("Accept", "application/json")
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return message{}, err
		}
		if err := rq.SetBody(streaming.NopCloser(bytes.NewReader(text)), "application/json"); err != nil {
			return message{}, err
		}
	}
	start, call := time.Now(), Call{Method: method, Type: typ}
	response, err := c.pipeline.Do(rq)
	if response != nil {
		call.Status = response.StatusCode
	}
	if c.observe != nil {
		call.Duration = time.Since(start)
		c.observe(call)
	}
	if err != nil {
		return message{}, err
	}
	defer response.Body.Close()
	return readMessage(method, response)
}

// message is an answer, read into memory.
type message struct {
	method string
	status int
	header http.Header
	// body is nil if the answer has no body, or a body that is no JSON object.
	body map[string]any
	size int
}

// readMessage reads an answer, which runtime.Pipeline has in memory.
func readMessage(method string, response *http.Response) (message, error) {
	text, err := runtime.Payload(response)
	if err != nil {
		return message{}, fmt.Errorf("read the answer: %w", err)
	}
	m := message{method: method, status: response.StatusCode, header: response.Header, size: len(bytes.TrimSpace(text))}
	if len(text) > 0 {
		// As in Kubernetes objects, an integer is an int64. For text that is no JSON object, body
		// is nil.
		if utiljson.Unmarshal(text, &m.body) != nil {
			m.body = nil
		}
	}
	if m.status < http.StatusOK || m.status >= http.StatusMultipleChoices {
		return message{}, m.refusal()
	}
	return m, nil
}

// longestETag bounds an ETag in bytes. The ETags of ARM have less than 100 bytes.
const longestETag = 1024

// etag returns the ETag of the resource, which ARM writes in the header, the body or both. etag
// ignores an ETag above longestETag: ARM would refuse a request with such a header.
func (m message) etag() string {
	inBody, _ := m.body["etag"].(string)
	if etag := cmp.Or(m.header.Get("ETag"), inBody); len(etag) <= longestETag {
		return etag
	}
	return ""
}

// unreadable returns the *Error for an answer of success that is no JSON object.
func (m message) unreadable() error {
	return &Error{Method: m.method, Status: m.status, Message: fmt.Sprintf(
		"ARM answered %d with %d bytes that are no JSON object", m.status, m.size)}
}

// owns reports whether an address has the host of Options.Endpoint.
func (c *Client) owns(address *url.URL) bool { return sameHost(c.endpoint, address) }
