package watch

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestListPause: an informer is asked for a new list at once, and then at most once in each pause, however often there
// is room again. The last request is not lost.
func TestListPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keeping{again: make(chan struct{}, 1)}
		begin := time.Now()
		var asked []time.Duration
		for range 100 { // A tenant deletes and creates objects for 100 seconds.
			k.readAgain(time.Minute)
			select {
			case <-k.again:
				asked = append(asked, time.Since(begin))
			default:
			}
			<-time.After(time.Second)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		select {
		case <-k.again:
		default:
			t.Error("the last request is lost")
		}
		if len(asked) != 2 || asked[0] != 0 || asked[1] < time.Minute {
			t.Errorf("asked after %v, want at once and after a minute", asked)
		}
	})
}
