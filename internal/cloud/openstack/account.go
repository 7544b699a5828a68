package openstack

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bounds of the memory for answers to HTTP requests, in bytes. A tenant may name a cloud of his own
// in clouds.yaml, so an answer may be hostile.
const (
	// maxAnswer bounds an unpacked answer, which is also the longest page of a list.
	maxAnswer = 8 << 20
	// maxAside bounds an answer without an account: a login, whose catalog is kept as long as
	// its scope, and the first call to a service.
	maxAside     = 512 << 10
	maxAsideKept = 2 << 20
	// maxRefusal bounds the part of a refusal that is read. Conditions show no more.
	maxRefusal = 64 << 10
	// maxHeader bounds the header of an answer.
	maxHeader = 256 << 10

	// maxKept bounds the memory of one account, and so of one list. maxItems bounds the number
	// of items of a list.
	maxKept  = 64 << 20
	maxItems = 10_000
	// maxTogether bounds the memory of all accounts together, beyond what each account has
	// anyway.
	maxTogether = 128 << 20
	anyway      = 256 << 10
)

// TooMuchError says that an answer exceeds the memory for answers. It says nothing about the
// cloud: a big cloud may be honest.
type TooMuchError struct {
	// What exceeds maxKept or maxTogether, such as "the list of networks".
	What string
	// Always says that the answer exceeds maxKept by itself, without the other answers that share
	// maxTogether.
	Always bool
}

// Error implements error.
func (e *TooMuchError) Error() string { return e.What }

// account counts the bytes that decoded JSON takes, of the calls with one context of
// [Clouds.Account]. A nil account has no limit.
type account struct {
	// purse is Clouds.purse, or nil where only the account's own bound counts.
	purse *semaphore.Weighted
	most  int

	mu    sync.Mutex
	taken int
	paid  int
}

type accountKey struct{}

// Account begins an account of the answers to calls with the returned context.Context, such as the
// pages of one [List.Read]. The caller calls end once no answer is kept.
func (c *Clouds) Account(ctx context.Context) (with context.Context, end func()) {
	a := &account{purse: c.purse, most: maxKept}
	return context.WithValue(ctx, accountKey{}, a), a.reset
}

// accountOf returns the account that [Clouds.Account] has put into a context, or nil.
func accountOf(ctx context.Context) *account {
	a, _ := ctx.Value(accountKey{}).(*account)
	return a
}

// aside begins an account beside that of accountOf(ctx), for memory that is soon freed, such as the
// fields of a page beside its items.
func aside(ctx context.Context) (context.Context, *account) {
	a := &account{most: maxKept}
	if of := accountOf(ctx); of != nil {
		a.purse = of.purse
	}
	return context.WithValue(ctx, accountKey{}, a), a
}

// add counts n more bytes, or returns a [TooMuchError] if the account would exceed account.most, or
// all accounts maxTogether.
func (a *account) add(n int) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.taken+n > a.most {
		return &TooMuchError{fmt.Sprintf("OpenStack's answers take more than %d MiB", a.most>>20), true}
	}
	if due := a.taken + n - anyway - a.paid; a.purse != nil && due > 0 {
		// add does not wait: a list that waits for memory would keep memory that other lists wait for.
		if !a.purse.TryAcquire(int64(due)) {
			return &TooMuchError{What: "OpenStack's answers to all requests take too much memory at once"}
		}
		a.paid += due
	}
	a.taken += n
	return nil
}

// reset gives all bytes back to Clouds.purse.
func (a *account) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.paid > 0 {
		a.purse.Release(int64(a.paid))
	}
	a.taken, a.paid = 0, 0
}

// weigh returns about how many bytes a JSON text takes once decoded. Each JSON object takes
// some hundred bytes, however short its text.
func weigh(text []byte) int {
	return len(text) + 320*bytes.Count(text, []byte("{")) +
		60*(bytes.Count(text, []byte(","))+bytes.Count(text, []byte("[")))
}
