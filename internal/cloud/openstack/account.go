package openstack

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

// Bounds of what is taken of clouds, which may be anybody's, in bytes.
const (
	// maxAnswer bounds an answer, unpacked. It is also the longest page of a list.
	maxAnswer = 8 << 20
	// maxAside bounds an answer that belongs to no account: a login, whose catalog is kept
	// as long as its scope, and the first question to a service. So much of it is kept.
	maxAside     = 512 << 10
	maxAsideKept = 2 << 20
	// maxRefusal bounds what is read of a refusal. Nobody is shown more.
	maxRefusal = 64 << 10
	// maxHeader bounds what comes before an answer.
	maxHeader = 256 << 10

	// maxKept bounds what one account keeps, and so one list; maxItems bounds the latter too.
	maxKept  = 64 << 20
	maxItems = 10_000
	// maxTogether bounds what all accounts keep beyond what each keeps anyway.
	maxTogether = 128 << 20
	anyway      = 256 << 10
)

// TooMuchError says that a cloud told more than there is memory for. It says nothing about
// the cloud: a big one may be honest.
type TooMuchError struct {
	// What was too much.
	What string
	// Always says that it is too much by itself, whatever else is kept.
	Always bool
}

// Error says what was too much.
func (e *TooMuchError) Error() string { return e.What }

// purse is the memory that all accounts share.
type purse struct {
	mu   sync.Mutex
	left int
}

// pay takes n bytes from the purse, or gives bytes back if n is negative. pay never waits: a
// list that waits for memory would keep memory that other lists wait for.
func (p *purse) pay(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.left {
		return false
	}
	p.left -= n
	return true
}

// account counts the bytes that decoded answers to some calls take. A nil account has no
// limit.
type account struct {
	purse *purse // nil where only the account's own bound counts
	most  int

	mu    sync.Mutex
	taken int
	paid  int
}

type accountKey struct{}

// Account begins an account of the answers to calls with the returned context. The caller
// calls end once no answer is kept.
func (c *Clouds) Account(ctx context.Context) (with context.Context, end func()) {
	a := &account{purse: &c.purse, most: maxKept}
	return context.WithValue(ctx, accountKey{}, a), a.reset
}

// accountOf returns that of a context, or nil.
func accountOf(ctx context.Context) *account {
	a, _ := ctx.Value(accountKey{}).(*account)
	return a
}

// aside begins an account beside that of a context, for what is soon let go.
func aside(ctx context.Context) (context.Context, *account) {
	a := &account{most: maxKept}
	if of := accountOf(ctx); of != nil {
		a.purse = of.purse
	}
	return context.WithValue(ctx, accountKey{}, a), a
}

// take accounts for some bytes more.
func (a *account) take(n int) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken+n > a.most {
		return &TooMuchError{fmt.Sprintf("OpenStack's answers take more than %d MiB", a.most>>20), true}
	}
	if due := a.taken + n - anyway - a.paid; a.purse != nil && due > 0 {
		if !a.purse.pay(due) {
			return &TooMuchError{What: "OpenStack's answers to all requests take too much memory at once"}
		}
		a.paid += due
	}
	a.taken += n
	return nil
}

// reset gives all back.
func (a *account) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.paid > 0 {
		a.purse.pay(-a.paid)
	}
	a.taken, a.paid = 0, 0
}

// weigh returns about how many bytes a text takes once it is decoded, of which it may have
// few itself: an object takes some hundred, however small.
func weigh(text []byte) int {
	return len(text) + 320*bytes.Count(text, []byte("{")) +
		60*(bytes.Count(text, []byte(","))+bytes.Count(text, []byte("[")))
}
