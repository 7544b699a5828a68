package openstack

import (
	"fmt"
	"io"
	"net/http"
)

// body is a Response.Body of which at most maxAnswer, maxAside or maxRefusal bytes can be read.
// Close ends the call and the call's deadline.
type body struct {
	io.Closer

	from    io.Reader // of the unpacked answer
	left    int
	most    int
	cut     bool // cut a longer answer instead of refusing it
	account *account
	end     func()
}

// bounded returns the body for the answer to a request; RoundTrip sets Response.Body to it.
func bounded(request *http.Request, response *http.Response, end func()) *body {
	b := &body{
		Closer: response.Body, from: response.Body, most: maxAnswer, account: accountOf(request.Context()), end: end,
	}
	switch {
	case response.StatusCode > http.StatusMultipleChoices: // With that, versions are listed.
		b.most, b.cut = maxRefusal, true
	case b.account == nil || isLogin(request):
		b.most, b.account = maxAside, &account{most: maxAsideKept}
	}
	b.left = b.most
	return b
}

// isLogin reports whether the answer to a request is kept as long as the scope.
func isLogin(request *http.Request) bool { return request.Header.Get("X-Auth-Token") == "" }

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 && b.cut {
		return 0, io.EOF
	}
	// One byte more shows whether the answer goes on.
	n, err := b.from.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		if b.cut {
			n, b.left = b.left, 0
			return n, io.EOF
		}
		return 0, &TooMuchError{fmt.Sprintf("an answer of OpenStack is longer than %d KiB", b.most>>10), true}
	}
	b.left -= n
	if taken := b.account.add(weigh(p[:n])); taken != nil {
		return 0, taken
	}
	return n, err
}

// Close closes the answer.
func (b *body) Close() error {
	defer b.end()
	return b.Closer.Close()
}
