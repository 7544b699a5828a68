package azure

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxPages and maxItems bound a list: a resource group has at most 800 resources of most types.
const (
	maxPages = 200
	maxItems = 20000
)

// List returns the resources of a type that are directly in an [ID]: the subnets of a virtual
// network, the virtual networks of a resource group or subscription, the resource groups of a
// subscription.
func (c *Client) List(ctx context.Context, in ID, typ, version string) ([]map[string]any, error) {
	items, err := c.list(ctx, in, typ, version)
	if err != nil {
		return nil, fmt.Errorf("list %s in %s: %w", typ, in, err)
	}
	return items, nil
}

func (c *Client) list(ctx context.Context, in ID, typ, version string) ([]map[string]any, error) {
	example, err := in.Child(typ, "name")
	if err != nil {
		return nil, err
	}
	address := *c.endpoint
	address.Path += strings.TrimSuffix(example.String(), "/name")
	address.RawQuery = url.Values{"api-version": {version}}.Encode()
	next, seen, items := &address, map[string]bool{}, []map[string]any(nil)
	for next != nil {
		if seen[next.String()] || len(seen) == maxPages || len(items) > maxItems {
			return nil, fmt.Errorf("the list has no end after %d pages with %d resources", len(seen), len(items))
		}
		seen[next.String()] = true
		m, err := c.request(ctx, http.MethodGet, typ, next, nil, nil)
		if err != nil {
			return nil, err
		}
		if m.body == nil {
			return nil, m.unreadable()
		}
		value, _ := m.body["value"].([]any)
		for _, one := range value {
			if item, ok := one.(map[string]any); ok {
				items = append(items, item)
			}
		}
		if next, err = c.nextPage(m); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// nextPage returns the address in nextLink, or nil.
func (c *Client) nextPage(m message) (*url.URL, error) {
	link, _ := m.body["nextLink"].(string)
	if link == "" {
		return nil, nil
	}
	next, err := url.Parse(link)
	if err != nil {
		return nil, fmt.Errorf("read the address of the next page: %w", quietError{err})
	}
	if !c.owns(next) {
		return nil, &HostError{next.Scheme + "://" + next.Host + next.Path}
	}
	return next, nil
}
