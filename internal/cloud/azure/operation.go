package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Style says how a Poll finds the end of an [Operation].
type Style string

const (
	// AsyncOperation operations have an address whose body says InProgress, Succeeded or Failed.
	AsyncOperation Style = "async"
	// Location operations have an address that ARM answers with 202 until the end.
	Location Style = "location"
	// OfResource operations have no address: a Poll reads the provisioningState of the resource, or
	// finds the resource missing after its deletion.
	OfResource Style = "resource"
)

// Operation is a long-running operation of ARM. An Operation is a plain value: another process can
// poll the operation by its [Operation.Token].
type Operation struct {
	Style Style `json:"style"`
	// URL is the address to poll; empty for [OfResource].
	URL string `json:"url,omitempty"`
	// Method is the method of the request that began the operation: PUT or DELETE.
	Method string `json:"method"`
	// ID is the id of the resource in the request, and Version the api-version.
	ID      ID     `json:"id"`
	Version string `json:"apiVersion"`
}

// Token returns the operation as a text of at most `most` bytes. Some addresses have 4 KB of
// certificates in their query. If the text would be longer, Token replaces the address by the style
// [OfResource].
func (o Operation) Token(most int) (string, error) {
	text, err := json.Marshal(o)
	if err == nil && len(text) > most && o.Style != OfResource {
		o.Style, o.URL = OfResource, ""
		text, err = json.Marshal(o)
	}
	if err != nil {
		return "", fmt.Errorf("write an operation of %s: %w", o.ID, err)
	}
	if len(text) > most {
		return "", fmt.Errorf("write an operation of %s: its token has %d bytes, more than %d", o.ID, len(text), most)
	}
	return string(text), nil
}

// ParseOperation parses a text of [Operation.Token].
func ParseOperation(token string) (Operation, error) {
	var o Operation
	if err := json.Unmarshal([]byte(token), &o); err != nil {
		return Operation{}, fmt.Errorf("read an operation: %w", err)
	}
	if err := o.check(); err != nil {
		return Operation{}, fmt.Errorf("read an operation: %w", err)
	}
	return o, nil
}

// check returns why an operation cannot be polled.
func (o Operation) check() error {
	switch {
	case o.Style != AsyncOperation && o.Style != Location && o.Style != OfResource:
		return fmt.Errorf("no style %s", quote(string(o.Style)))
	case (o.URL == "") != (o.Style == OfResource):
		return fmt.Errorf("the style %s and the address %s do not go together", o.Style, quote(o.URL))
	case o.Method != http.MethodPut && o.Method != http.MethodDelete:
		return fmt.Errorf("no method %s", quote(o.Method))
	case o.ID.IsTenant() || o.Version == "":
		return errors.New("the id and the api-version are missing")
	}
	return nil
}

// Poll reads the state of an operation once. An [Answer] with an Operation says that the operation
// runs: the caller MUST pass Answer.Operation to the next Poll, after Answer.After, since the
// address may change. An [Answer] without an Operation says that the operation has succeeded;
// Answer.Body is the resource, if ARM returned the resource.
//
// An error with [Failure.Ended] is the failure of the operation. Any other error is the failure of
// the Poll, which may be repeated; the class [Missing] says that ARM does not know the operation
// any more.
func (c *Client) Poll(ctx context.Context, op Operation) (Answer, error) {
	answer, err := c.poll(ctx, op)
	if err != nil {
		return Answer{}, fmt.Errorf("await the end of %s %s: %w", op.Method, op.ID, err)
	}
	return answer, nil
}

func (c *Client) poll(ctx context.Context, op Operation) (Answer, error) {
	if err := op.check(); err != nil {
		return Answer{}, err
	}
	if op.Style == OfResource {
		m, err := c.send(ctx, http.MethodGet, op.ID, op.Version, nil, nil)
		if op.Method == http.MethodDelete && err != nil && Classify(err).Class == Missing {
			return Answer{}, nil
		}
		if err != nil {
			return Answer{}, err
		}
		return m.polled(op, c.owns)
	}
	address, err := url.Parse(op.URL)
	if err != nil {
		return Answer{}, quietError{err}
	}
	if !c.owns(address) { // A token may have been forged.
		return Answer{}, &HostError{address.Scheme + "://" + address.Host + address.Path}
	}
	m, err := c.request(ctx, http.MethodGet, "operation", address, nil, nil)
	if err != nil {
		return Answer{}, endedBy(op, err)
	}
	return m.polled(op, c.owns)
}

// endedBy sets Error.Ended if the answer of a [Location] address is the operation's own failure,
// such as 409 with a code. For a 404, or an answer that passes such as 429, endedBy leaves the
// error unchanged: the operation may continue.
func endedBy(op Operation, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || op.Style != Location || e.Code == "" {
		return err
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout,
		http.StatusTooManyRequests:
		return err
	}
	if e.Status < http.StatusInternalServerError {
		e.Ended, e.Method = true, op.Method
	}
	return err
}
