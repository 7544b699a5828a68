package iot

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// denial is the refusal of an upgrade by an admission webhook or a policy. A denial is valid for
// one generation of the IotConnector and of the IotConnectorRelease.
type denial struct {
	connector types.UID
	// generations holds metadata.generation of the IotConnector and of the IotConnectorRelease.
	generations [2]int64
	reason      string
	// again is the time of the next attempt, because no event reports that a webhook would now
	// accept the upgrade.
	again time.Time
}

// denials holds the valid denials by release and by name of the IotConnector. A restart of the
// operator loses the denials, and the next attempt finds them again.
type denials struct {
	clock clock.PassiveClock
	all   map[object.ID]map[string]denial
}

// add records a denial.
func (r *denials) add(id object.ID, p *plan, c *iotv1alpha1.IotConnector, reason string) {
	if r.all[id] == nil {
		r.all[id] = map[string]denial{}
	}
	r.all[id][c.Name] = denial{
		connector: c.UID, generations: [2]int64{c.Generation, p.release.Generation},
		reason: reason, again: r.clock.Now().Add(refusedRetry),
	}
}

// of returns the denials of a release that are still valid, and drops all others.
func (r *denials) of(
	id object.ID, release *iotv1alpha1.IotConnectorRelease, connectors []iotv1alpha1.IotConnector,
) map[string]denial {
	valid := map[string]denial{}
	for i := range connectors {
		c := &connectors[i]
		one, ok := r.all[id][c.Name]
		if ok && one.connector == c.UID && one.generations == [2]int64{c.Generation, release.Generation} {
			valid[c.Name] = one
		}
	}
	r.all[id] = valid
	return valid
}

// next returns the time until the next attempt; zero if there is no denial. An attempt that is
// overdue waits for spec.strategy.maxUnavailable, and the event of another IotConnector wakes
// the release.
func (r *denials) next(id object.ID) time.Duration {
	var next time.Duration
	for _, one := range r.all[id] {
		if wait := one.again.Sub(r.clock.Now()); wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next
}
