package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Sizes of reviews, in bytes. Decoding takes up to thirty times the size of a review: a budget of 4 MiB costs about
// 120 MB at most.
const (
	// maxReview is the bound of controller-runtime, and more than the API server sends: an object of 3 MB, its
	// former state, and the rest of a review.
	maxReview = 7 << 20
	// smallReview is a review that counts against the budget of small reviews.
	smallReview = 64 << 10
	smallBudget = 4 << 20
	// largeBudget is one review of the largest size: larger ones are decoded one after another.
	largeBudget = maxReview
)

// budget bounds the memory of the reviews that are answered at the same time. Large and small reviews have a budget
// each, so that a user who sends large objects can't delay the reviews of others.
type budget struct {
	small, large *semaphore.Weighted
	// waiting has a unit for each large review that waits.
	waiting *semaphore.Weighted
}

func newBudget() *budget {
	return &budget{
		semaphore.NewWeighted(smallBudget), semaphore.NewWeighted(largeBudget), semaphore.NewWeighted(waitingReviews),
	}
}

// bounded lets a handler read a request as soon as the budget has room for the request. Without room within half of the
// time for the answer, the answer is 429 and says why.
func (b *budget) bounded(hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 || size > maxReview { // The API server always sends the length.
			http.Error(w, fmt.Sprintf("a review has at most %d bytes, and a Content-Length", maxReview),
				http.StatusRequestEntityTooLarge)
			return
		}
		room, err := b.acquire(r.Context(), size)
		if err != nil {
			refuseBusy(w, r)
			return
		}
		defer room.Release(size)
		hook.ServeHTTP(w, r)
	})
}

// Bounds of one HTTP/2 connection. The API server sends many reviews by one connection. Reviews that wait for room must
// not stop the reviews behind them, so the connection takes twice the bytes of all large reviews that may wait.
const (
	// streamBuffer is the least: before a client knows the bound, it sends as much, as RFC 9113 (6.5.2) has it.
	streamBuffer     = 64 << 10
	connectionBuffer = 2*waitingReviews*streamBuffer - 1 // net/http documents less than 4 MiB.
)

// waitingReviews is how many large reviews may wait for room. Each holds streamBuffer bytes. A review that comes when
// so many wait is answered at once.
const waitingReviews = 32

func http2Bounds() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: connectionBuffer,
	}
}

// acquire takes room for a review of a size, and waits for the room at most half of the time that the context has left.
func (b *budget) acquire(ctx context.Context, size int64) (*semaphore.Weighted, error) {
	room := b.small
	if size > smallReview {
		room = b.large
		if room.TryAcquire(size) {
			return room, nil
		}
		if !b.waiting.TryAcquire(1) {
			return nil, errTooManyWait
		}
		defer b.waiting.Release(1)
	}
	waiting, cancel := context.WithTimeout(ctx, timeLeft(ctx)/2)
	defer cancel()
	return room, room.Acquire(waiting, size)
}

var errTooManyWait = errors.New("too many reviews wait")

// longestUID is how many bytes of a review uidOf reads. The API server writes the uid first.
const longestUID = 4 << 10

// uidOf returns request.uid of a review in JSON, or "".
func uidOf(review io.Reader) types.UID {
	decoder := json.NewDecoder(io.LimitReader(review, longestUID))
	for key := ""; ; {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		text, isText := token.(string)
		if isText && key == "uid" {
			return types.UID(text)
		}
		key = text
	}
}

// timeLeft returns the time until the deadline of a context.
func timeLeft(ctx context.Context) time.Duration {
	if until, ok := ctx.Deadline(); ok {
		return time.Until(until)
	}
	return longestAnswer
}

// refuseBusy answers a review with 429. The uid of the answer is that of the review, which is not decoded: refuseBusy
// reads the uid alone.
func refuseBusy(w http.ResponseWriter, r *http.Request) {
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: &admissionv1.AdmissionResponse{
			UID: uidOf(r.Body), Result: &metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
				Message: "Kinship is judging as many objects as its memory allows: try again in a few seconds",
			},
		},
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		return // The client is gone.
	}
}
