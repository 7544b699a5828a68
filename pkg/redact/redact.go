package redact

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

var (
	// queries are queries and fragments in addresses.
	queries = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s?#'"]+)[?#][^\s'"]*`)
	// quotedQueries are queries in addresses that net/http and net/url quote as Go does.
	quotedQueries = regexp.MustCompile(`("[^\s"?]*)\?(\\.|[^"\\])*"`)
	// users are user names and passwords in addresses.
	users = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#@'"]+@`)
)

// Text returns a text without the queries, fragments and user names of addresses, and without characters that control
// a terminal.
func Text(text string) string { return Printable(Addresses(text)) }

// Addresses returns a text without the queries, fragments and user names of its addresses.
func Addresses(text string) string {
	text = queries.ReplaceAllString(quotedQueries.ReplaceAllString(text, `$1"`), "$1")
	return users.ReplaceAllString(text, "$1")
}

// Printable returns a text in which each character that is not printable is written as Go writes it, such as \u001b for
// ESC, which begins an escape sequence of a terminal, or \u202e, which reverses the text behind it. Line breaks and
// tabs stay.
func Printable(text string) string {
	isOdd := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
	if strings.IndexFunc(text, isOdd) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case !isOdd(r):
			out.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	return out.String()
}

type addressKey struct{}

// Transport returns an http.RoundTripper for requests whose queries and user names an instrumentation must not see.
// instrument wraps the http.RoundTripper that it is given, as otelhttp.NewTransport does: instrument sees requests
// without a query, and the request that is sent has the query.
func Transport(to http.RoundTripper, instrument func(http.RoundTripper) http.RoundTripper) http.RoundTripper {
	instrumented := instrument(roundTripper(func(r *http.Request) (*http.Response, error) {
		if address, ok := r.Context().Value(addressKey{}).(*url.URL); ok {
			r = r.Clone(r.Context())
			r.URL = address
		}
		return to.RoundTrip(r)
	}))
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		bare := r.Clone(context.WithValue(r.Context(), addressKey{}, r.URL))
		bare.URL.RawQuery, bare.URL.ForceQuery, bare.URL.User, bare.URL.Fragment = "", false, nil, ""
		return instrumented.RoundTrip(bare)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
