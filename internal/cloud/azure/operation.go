package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Style is how an Operation tells its end.
type Style string

const (
	// AsyncOperation operations have an address whose body says InProgress, Succeeded or Failed.
	AsyncOperation Style = "async"
	// Location operations have an address that is answered with 202 until the end.
	Location Style = "location"
	// OfResource operations have no address: the resource itself tells its provisioningState, or is
	// missing after its deletion.
	OfResource Style = "resource"
)

// Operation is a long-running operation of ARM. An Operation is a plain value: another process can poll the
// operation by its Token.
type Operation struct {
	Style Style `json:"style"`
	// URL is the address to poll; empty for OfResource.
	URL string `json:"url,omitempty"`
	// Method is that of the request which began the operation: PUT or DELETE.
	Method string `json:"method"`
	// ID is the resource that the request was for, and Version the api-version.
	ID      ID     `json:"id"`
	Version string `json:"apiVersion"`
}

// Token returns the operation as a text of at most so many bytes. Some addresses have four kilobytes of
// certificates in their query. If the text would be longer, it has the style OfResource instead of the address.
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

// ParseOperation parses a Token.
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

// Poll asks for the state of an operation once. An Answer with an Operation says that the operation runs: the
// next Poll, after Answer.After, MUST be given this Operation, since the address may change. An Answer without
// one says that the operation has succeeded; its Body is the resource, if ARM returned the resource.
//
// An error is the operation's failure if [Failure.Ended]. Otherwise the poll failed and may be repeated;
// class Missing says that ARM does not know the operation any more.
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

// endedBy marks the answer of a result's address that is the operation's own failure, such as 409 with
// a code. A 404 and answers that pass are not: the operation may run on.
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
