package admission

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDoubts: a client that raises a doubt each second has the path replaced at growing intervals, and the last doubt
// counts. After calm, a doubt counts at once.
func TestDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d doubts
		var mu sync.Mutex // A timer calls as well.
		var got []time.Duration
		begin := time.Now()
		call := func() {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, time.Since(begin).Round(time.Second))
		}
		for range 100 {
			d.raise(call)
			<-time.After(time.Second)
		}
		<-time.After(time.Hour)
		d.raise(call)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		seconds := []int{0, 10, 30, 70, 150, 3700}
		want := make([]time.Duration, 0, len(seconds))
		for _, s := range seconds {
			want = append(want, time.Duration(s)*time.Second)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("replacements (-want +got):\n%s", diff)
		}
	})
}
