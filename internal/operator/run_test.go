package operator

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/kinship-dev/kinship/internal/options"
)

// TestFailOver bounds the time until a replica leads in the place of one that was killed: the follower
// may see the last renewal late, and may look late after the end of the Lease.
func TestFailOver(t *testing.T) {
	o := leaderElection(options.Options{LeaderElect: true})
	if !o.LeaderElection || o.LeaseDuration == nil || o.RenewDeadline == nil || o.RetryPeriod == nil {
		t.Fatal("the manager elects no leader, or by the durations of the library, which take longer than 20 s")
	}
	// The longest time between two looks.
	look := *o.RetryPeriod + time.Duration(leaderelection.JitterFactor*float64(*o.RetryPeriod))
	if longest := *o.LeaseDuration + 2*look; longest >= 20*time.Second {
		t.Errorf("a replica may take %s to lead, docs/install.md promises less than 20 s", longest)
	}
	if *o.RenewDeadline >= *o.LeaseDuration {
		t.Errorf("a leader without a renewal ends after %s, when another may lead since %s",
			*o.RenewDeadline, *o.LeaseDuration)
	}
	if !o.LeaderElectionReleaseOnCancel {
		t.Error("a leader that ends keeps the Lease, so that no replica leads until the end of the Lease")
	}
}
