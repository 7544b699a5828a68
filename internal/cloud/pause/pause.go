// Package pause reads the pauses that clouds ask for.
package pause

import (
	"net/http"
	"strconv"
	"time"
)

// After returns the pause of a Retry-After header, which has seconds or a date (RFC 9110, section 10.2.3). After
// returns 0 without such a header, and at most longest: the cloud may be mistaken.
func After(header http.Header, longest time.Duration) time.Duration {
	value := header.Get("Retry-After")
	var after time.Duration
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		after = time.Duration(min(seconds, longest.Seconds()) * float64(time.Second))
	} else if date, err := http.ParseTime(value); err == nil {
		after = time.Until(date)
	}
	return min(max(after, 0), longest)
}
