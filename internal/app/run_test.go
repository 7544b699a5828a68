package app

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"
)

// TestFailOver bounds the time until a replica leads in the place of one that was killed: the follower
// may see the last renewal late, and may look late after the end of the Lease.
func TestFailOver(t *testing.T) {
	const look = retryPeriod + retryPeriod*(leaderelection.JitterFactor*10)/10 // The longest time between two looks.
	if longest := leaseDuration + 2*look; longest >= 20*time.Second {
		t.Errorf("a replica may take %s to lead, docs/install.md promises less than 20 s", longest)
	}
	if renewDeadline >= leaseDuration {
		t.Errorf("a leader without a renewal ends after %s, when another may lead since %s", renewDeadline, leaseDuration)
	}
}
