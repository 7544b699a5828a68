package throttle_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/throttle"
)

// TestThrottle asks once a second for 100 seconds, and for 15 seconds an hour later.
func TestThrottle(t *testing.T) {
	const second = time.Second
	for name, c := range map[string]struct {
		throttle *throttle.Throttle
		want     []int // seconds
	}{
		"equal pauses":   {&throttle.Throttle{Least: time.Minute}, []int{0, 60, 120, 3700, 3760}},
		"growing pauses": {&throttle.Throttle{Least: 10 * second, Most: time.Hour}, []int{0, 10, 30, 70, 150, 3700, 4020}},
		"calm": {
			&throttle.Throttle{Least: 10 * second, Most: time.Hour, Calm: 30 * time.Minute},
			[]int{0, 10, 30, 70, 150, 3700, 3710, 3730},
		},
		"longest pause": {
			&throttle.Throttle{Least: 10 * second, Most: 20 * second}, []int{0, 10, 30, 50, 70, 90, 110, 3700, 3720},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // A timer calls as well.
				var got []int
				begin := time.Now()
				call := func() {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, int(time.Since(begin).Seconds()))
				}
				for range 100 {
					c.throttle.Do(call)
					<-time.After(time.Second)
				}
				<-time.After(time.Hour)
				for range 15 {
					c.throttle.Do(call)
					<-time.After(time.Second)
				}
				<-time.After(time.Hour)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}
