package openstack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Bounds of a list whose [List.Next] leads in a circle, or whose pages are almost empty.
const (
	maxPages = 1000
	maxTime  = 5 * time.Minute
)

// List describes a list request, page by page.
type List struct {
	// Address of the first page.
	Address string
	// Many is the name of the list in a page, such as "networks" in {"networks": [...]}.
	Many string
	// Next returns the address of the next page, from the fields of a page beside its items, such
	// as networks_links. Next returns "" for the last page.
	Next func(page map[string]any) string
	// Keep reports whether an item is needed; nil means that all items are. Other items are
	// freed at once.
	Keep func(item map[string]any) bool
}

// Read returns the needed items. Too many or too long items are a [TooMuchError]: Read never
// returns a part of a list as the whole.
func (l List) Read(ctx context.Context, client *gophercloud.ServiceClient) ([]map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	kept := accountOf(ctx)
	if kept == nil {
		kept = &account{most: maxKept}
	}
	var all []map[string]any
	take := func(item map[string]any, weight int) error {
		if l.Keep != nil && !l.Keep(item) {
			return nil
		}
		if len(all) == maxItems {
			return l.tooMuch(fmt.Sprintf("more than %d", maxItems))
		}
		if err := kept.add(weight); err != nil {
			return err
		}
		all = append(all, item)
		return nil
	}
	address := l.Address
	for range maxPages {
		rest, err := l.page(ctx, client, address, take)
		if err != nil {
			return nil, err
		}
		if address = l.Next(rest); address == "" {
			return all, nil
		}
	}
	return nil, l.tooMuch(fmt.Sprintf("more than %d pages of", maxPages))
}

func (l List) tooMuch(what string) error {
	return &TooMuchError{fmt.Sprintf("OpenStack lists %s %s", what, l.Many), true}
}

// page reads one page of a list, item by item, so that an item which [List.Keep] rejects is freed
// before the next item is read. page returns the fields for [List.Next].
func (l List) page(
	ctx context.Context, client *gophercloud.ServiceClient, address string, take func(map[string]any, int) error,
) (map[string]any, error) {
	ctx, read := aside(ctx)
	defer read.reset()
	response, err := client.Request(ctx, http.MethodGet, address, &gophercloud.RequestOpts{
		KeepResponseBody: true, OkCodes: []int{http.StatusOK},
	})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	decoder.UseNumber()
	if _, err := expect(decoder, json.Delim('{')); err != nil {
		return nil, err
	}
	rest := map[string]any{}
	for decoder.More() {
		read.reset()
		name, err := decoder.Token()
		if err == nil && name == l.Many {
			err = items(decoder, read, take)
		} else if err == nil {
			err = l.aside(decoder, name, rest)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err = decoder.Token()
	return rest, err
}

// aside reads the fields beside the items, and keeps only links, such as networks_links.
func (l List) aside(decoder *json.Decoder, name json.Token, rest map[string]any) error {
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	text, _ := name.(string)
	if text != "next" && text != "links" && text != l.Many+"_links" {
		return nil
	}
	var links any
	if err := json.Unmarshal(value, &links); err != nil {
		return err
	}
	rest[text] = links
	return nil
}

// items reads the list of a page.
func items(decoder *json.Decoder, read *account, take func(map[string]any, int) error) error {
	token, err := expect(decoder, json.Delim('['), nil)
	if token == nil {
		return err
	}
	for decoder.More() {
		read.reset()
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return err
		}
		var item map[string]any
		one := json.NewDecoder(bytes.NewReader(text))
		one.UseNumber()
		if one.Decode(&item) != nil || item == nil {
			continue // The answer is no JSON object.
		}
		if err := take(item, weigh(text)); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// expect reads a json.Token and returns an error unless the token is one of tokens.
func expect(decoder *json.Decoder, tokens ...json.Token) (json.Token, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(tokens, token) {
		return nil, errors.New("OpenStack's answer is no list")
	}
	return token, nil
}
