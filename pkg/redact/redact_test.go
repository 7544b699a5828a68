package redact_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/kinship-dev/kinship/pkg/redact"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`Get "https://arm.example/op/7?sig=secret&t=1": EOF`:  `Get "https://arm.example/op/7": EOF`,
		"see https://arm.example/op/7?sig=secret, or ask":     "see https://arm.example/op/7 or ask",
		"https://user:secret@arm.example/x":                   "https://arm.example/x",
		"at https://arm.example/x#secret":                     "at https://arm.example/x",
		`parse "https://arm.example/%zz?sig=secret": invalid`: `parse "https://arm.example/%zz": invalid`,
		"no address? yes":                                       "no address? yes",
		"a\x1b[31mb\u202ec\ue000\x00":                           `a\u001b[31mb\u202ec\ue000\u0000`,
		"two\nlines\tand a tab, ö and 中":                        "two\nlines\tand a tab, ö and 中",
		"s3://key:secret@bucket/a?X-Amz-Signature=secret'rest'": "s3://bucket/a'rest'",
	} {
		if got := redact.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// FuzzText: no text has a query of an address, or a character that controls a terminal.
func FuzzText(f *testing.F) {
	f.Add("Get \"https://a/b?sig=c\": EOF")
	f.Add("\x1b]0;title\x07\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		shown := redact.Text(text)
		if i := strings.IndexFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%q has an unprintable character at %d", shown, i)
		}
		secret := redact.Text("Get \"https://a.example/b?sig=0123456789abcdef\": " + text)
		if strings.Contains(secret, "0123456789abcdef") {
			t.Errorf("%q has the query", secret)
		}
	})
}

// TestTransport: the server is sent the query, and the instrumentation does not see it.
func TestTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.RawQuery)
	}))
	t.Cleanup(server.Close)
	var seen string
	instrument := func(to http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			seen = r.URL.String()
			return to.RoundTrip(r)
		})
	}
	client := &http.Client{Transport: redact.Transport(http.DefaultTransport, instrument)}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/a?sig=secret", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != "sig=secret" || seen != server.URL+"/a" {
		t.Errorf("the server was sent %q, and %s was seen", text, seen)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
