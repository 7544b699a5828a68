package iot

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// denial is what somebody answered to the attempt to upgrade a connector. It counts for
// the question that was asked: a connector or a release that was changed is another one.
type denial struct {
	connector types.UID
	// generations are those of the connector and of the release.
	generations [2]int64
	reason      string
	// again is when to ask once more: they may think otherwise, and nobody tells.
	again time.Time
}

// denials are those that hold, by release and by the connector's name. They are lost at a
// restart, and come back with the next attempt.
type denials struct {
	clock clock.PassiveClock
	all   map[object.ID]map[string]denial
}

// add keeps what was answered.
func (r *denials) add(id object.ID, p *plan, c *iotv1alpha1.IotConnector, reason string) {
	if r.all[id] == nil {
		r.all[id] = map[string]denial{}
	}
	r.all[id][c.Name] = denial{
		connector: c.UID, generations: [2]int64{c.Generation, p.release.Generation},
		reason: reason, again: r.clock.Now().Add(refusedRetry),
	}
}

// of returns those that hold for the connectors that a release looks at now, and drops the
// others.
func (r *denials) of(
	id object.ID, release *iotv1alpha1.IotConnectorRelease, connectors []iotv1alpha1.IotConnector,
) map[string]denial {
	before := r.all[id]
	delete(r.all, id)
	for i := range connectors {
		c := &connectors[i]
		one, ok := before[c.Name]
		if !ok || one.connector != c.UID || one.generations != [2]int64{c.Generation, release.Generation} {
			continue
		}
		if r.all[id] == nil {
			r.all[id] = map[string]denial{}
		}
		r.all[id][c.Name] = one
	}
	return r.all[id]
}

// next returns how long it is until somebody is asked again; zero if nobody is. For whom
// it is time already, there is no room yet, and an event tells when there is.
func (r *denials) next(id object.ID) time.Duration {
	var next time.Duration
	for _, one := range r.all[id] {
		if wait := one.again.Sub(r.clock.Now()); wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next
}
