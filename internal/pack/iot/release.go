package iot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Reasons of a release's conditions.
const (
	reasonPaused    = "Paused"
	reasonStopped   = "TooManyFailures"
	reasonContested = "Contested"
	reasonUpgrading = "Upgrading"
	reasonDone      = "UpToDate"
)

const (
	// maxFailures bounds how many failures a status names, and maxNamed how many
	// objects a condition does.
	maxFailures = 32
	maxNamed    = 5
	// maxReason bounds what is told of one failure.
	maxReason = 1024
)

// standing is where a connector stands for a release.
type standing int

const (
	upToDate  standing = iota // as the release asks, and Ready
	upgrading                 // as the release asks, and not Ready yet
	failed                    // as the release has left it, and stalled
	broken                    // as the release asks, stalled, and not by the release
	behind                    // not as the release asks, and Ready
	ailing                    // not as the release asks, and not Ready anyway
	returned                  // rolled back, after the release had upgraded it
	denied                    // not as the release asks, since somebody does not allow it
)

// plan is what a release decides.
type plan struct {
	release *iotv1alpha1.IotConnectorRelease
	// next are the connectors to upgrade now, already changed, beside what they were.
	next     []upgrade
	counts   map[standing]int
	matched  int
	failures []iotv1alpha1.ReleaseFailure
	// contested are the connectors that an older release acts on, with its name.
	contested []contest
}

// upgrade is one connector, before and after.
type upgrade struct{ before, after *iotv1alpha1.IotConnector }

type contest struct{ connector, release string }

// attempts is what is known of what a release has tried.
type attempts struct {
	// unseen reports whether a connector is known to have been changed already, which the
	// cache does not show yet.
	unseen func(*iotv1alpha1.IotConnector) bool
	// denied are the connectors whose upgrade somebody did not allow, by name.
	denied map[string]denial
	now    time.Time
}

// newPlan decides what a release does next. The connectors and releases are those of the
// namespace; they are only read.
func newPlan(
	release *iotv1alpha1.IotConnectorRelease, all []iotv1alpha1.IotConnectorRelease,
	connectors []iotv1alpha1.IotConnector, tried attempts,
) (*plan, error) {
	p := &plan{release: release, counts: map[standing]int{}}
	mine, err := metav1.LabelSelectorAsSelector(release.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read spec.selector: %w", err)
	}
	older := olderThan(release, all)
	var waiting, again []*iotv1alpha1.IotConnector
	for i := range connectors {
		c := &connectors[i]
		if c.DeletionTimestamp != nil || !mine.Matches(labels.Set(c.Labels)) {
			continue
		}
		if other := older.match(c); other != "" {
			p.contested = append(p.contested, contest{c.Name, other})
			continue
		}
		p.matched++
		if release.Spec.Version == iotv1alpha1.Version0 {
			continue
		}
		s := p.after(c, tried)
		p.counts[s]++
		switch s {
		case failed:
			p.fail(c.Name, meta.FindStatusCondition(c.Status.Conditions, conditionStalled).Message)
		case returned:
			p.fail(c.Name, "it was rolled back after this release had upgraded it; to have it upgraded again, "+
				"take its annotation "+iotv1alpha1.AnnotationRelease+" off")
		case denied:
			p.fail(c.Name, tried.denied[c.Name].reason)
			if !tried.now.Before(tried.denied[c.Name].again) {
				again = append(again, c)
			}
		case behind, ailing:
			waiting = append(waiting, c)
		case upToDate, upgrading, broken: // Nothing to do, or to wait for.
		}
	}
	p.choose(again, waiting)
	slices.SortFunc(p.contested, func(a, b contest) int { return cmp.Compare(a.connector, b.connector) })
	p.sortFailures()
	return p, nil
}

// after is the standing of a connector, after what was tried with it.
func (p *plan) after(c *iotv1alpha1.IotConnector, tried attempts) standing {
	s := p.standing(c)
	if s != behind && s != ailing {
		return s
	}
	if tried.unseen(c) {
		return upgrading
	}
	if _, ok := tried.denied[c.Name]; ok {
		return denied
	}
	return s
}

// standing compares a connector with what the release asks.
func (p *plan) standing(c *iotv1alpha1.IotConnector) standing {
	observed := c.Status.ObservedGeneration == c.Generation
	ready := observed && meta.IsStatusConditionTrue(c.Status.Conditions, conditionReady)
	stalled := observed && meta.IsStatusConditionTrue(c.Status.Conditions, conditionStalled)
	asked := c.Spec.EffectiveVersion() >= p.release.Spec.Version && !p.otherImages(c)
	switch {
	case c.Spec.EffectiveVersion() < p.release.Spec.Version && p.marked(c):
		return returned // Only a rollback leads there. Who rolls back says that it has failed.
	case !asked && ready:
		return behind
	case !asked:
		return ailing
	case ready:
		return upToDate
	case stalled && c.Annotations[iotv1alpha1.AnnotationRelease] == p.mark(c.Generation):
		return failed
	case stalled:
		return broken // By whoever wrote it: nobody else's upgrade has to wait for that.
	default:
		return upgrading
	}
}

// mark says that a generation of a connector is the release's doing. Whoever may write the
// connector can write that too, and has his own connector counted or not, no more.
func (p *plan) mark(generation int64) string {
	return fmt.Sprintf("%s/%d", p.release.UID, generation)
}

// marked reports whether the release has changed a connector, whatever came after that.
func (p *plan) marked(c *iotv1alpha1.IotConnector) bool {
	return strings.HasPrefix(c.Annotations[iotv1alpha1.AnnotationRelease], string(p.release.UID)+"/")
}

// choose picks which of the connectors that are behind to upgrade now: the oldest
// first, and no more than may be unavailable at one time. What was denied counts as failed
// until it is allowed, and is tried again also by a release that has stopped for it.
func (p *plan) choose(again, waiting []*iotv1alpha1.IotConnector) {
	strategy := p.release.Spec.Strategy
	if strategy.Paused {
		return
	}
	slices.SortFunc(waiting, func(a, b *iotv1alpha1.IotConnector) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	most := atMost(strategy.MaxUnavailable, p.matched)
	changing := p.counts[upgrading]
	down := changing + p.counts[ailing] // What has failed, maxFailures counts.
	if len(p.failures)-p.counts[denied] < p.limit() {
		for _, c := range again[:min(len(again), max(most-down, 0))] {
			if err := p.begin(c); err == nil { // What failed then was not denied.
				changing++
				down++
			}
		}
	}
	for _, c := range waiting {
		if p.stopped() || changing >= most {
			return
		}
		s := p.standing(c)
		if s == behind && down >= most {
			continue // One that is down anyway may still go.
		}
		p.counts[s]--
		if err := p.begin(c); err != nil {
			p.counts[failed]++
			p.fail(c.Name, err.Error())
			continue
		}
		p.counts[upgrading]++
		changing++
		if s == behind {
			down++
		}
	}
}

// begin has a connector upgraded.
func (p *plan) begin(c *iotv1alpha1.IotConnector) error {
	after := c.DeepCopy()
	if err := p.change(after); err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, iotv1alpha1.AnnotationRelease, p.mark(c.Generation+1))
	p.next = append(p.next, upgrade{c, after})
	return nil
}

// deny takes in that somebody did not allow what was begun.
func (p *plan) deny(c *iotv1alpha1.IotConnector, reason string) {
	if slices.ContainsFunc(p.failures, func(f iotv1alpha1.ReleaseFailure) bool { return f.Name == c.Name }) {
		return // It was denied before.
	}
	p.counts[upgrading]--
	p.counts[denied]++
	p.fail(c.Name, reason)
	p.sortFailures()
}

func (p *plan) sortFailures() {
	slices.SortFunc(p.failures, func(a, b iotv1alpha1.ReleaseFailure) int { return cmp.Compare(a.Name, b.Name) })
}

// change makes a connector what the release asks.
func (p *plan) change(c *iotv1alpha1.IotConnector) error {
	if p.release.Spec.Version >= iotv1alpha1.Version1 {
		// The internal service names are not known here, and stay blank.
		if _, err := iot.Upgrade(c, nil); err != nil {
			return err
		}
	}
	p.eachImage(c, func(image *string, want string) { *image = want })
	return nil
}

// otherImages reports whether a connector runs other images than the release asks.
func (p *plan) otherImages(c *iotv1alpha1.IotConnector) bool {
	other := false
	p.eachImage(c, func(image *string, want string) { other = other || *image != want })
	return other
}

// eachImage calls f for each image that the release has something to say about.
func (p *plan) eachImage(c *iotv1alpha1.IotConnector, f func(image *string, want string)) {
	if len(p.release.Spec.Images) == 0 {
		return
	}
	for i := range c.Spec.Deployments {
		containers := c.Spec.Deployments[i].Containers
		for j := range containers {
			if want, ok := p.image(containers[j].Type); ok {
				f(&containers[j].Image, want)
			}
		}
	}
}

// image returns the image for a type, by either of its names.
func (p *plan) image(containerType string) (string, bool) {
	if image, ok := p.release.Spec.Images[containerType]; ok {
		return image, true
	}
	image, ok := p.release.Spec.Images[iot.CanonicalType(containerType)]
	return image, ok
}

func (p *plan) fail(name, reason string) {
	reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
	p.failures = append(p.failures, iotv1alpha1.ReleaseFailure{Name: name, Reason: reason})
}

// stopped reports whether too many upgrades have failed.
func (p *plan) stopped() bool { return len(p.failures) >= p.limit() }

// limit is how many failures stop the release.
func (p *plan) limit() int {
	if p.release.Spec.Strategy.MaxFailures == nil {
		return 1
	}
	return int(*p.release.Spec.Strategy.MaxFailures)
}

// outcome says what is left to do.
func (p *plan) outcome() reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, c := range p.contested[:min(len(p.contested), maxNamed)] {
		outcome = outcome.And(reconcile.Refuse(reasonContested,
			"IotConnector/%s also matches the older IotConnectorRelease/%s, which acts: IotConnectorRelease/%s leaves it alone",
			c.connector, c.release, p.release.Name))
	}
	if more := len(p.contested) - maxNamed; more > 0 {
		outcome = outcome.And(reconcile.Refuse(reasonContested, "so do %d more", more))
	}
	left := p.counts[behind] + p.counts[ailing]
	switch {
	case p.stopped():
		names := make([]string, 0, maxNamed)
		for _, f := range p.failures[:min(len(p.failures), maxNamed)] {
			names = append(names, "IotConnector/"+f.Name)
		}
		return outcome.And(reconcile.Refuse(reasonStopped, "stopped after %d failures, with %d to go: %s",
			len(p.failures), left, strings.Join(names, ", ")))
	case left > 0 && p.release.Spec.Strategy.Paused:
		return outcome.And(reconcile.Wait(reasonPaused,
			"paused with %d to go; resume with spec.strategy.paused: false", left))
	case left+p.counts[upgrading] > 0:
		return outcome.And(reconcile.Progress(reasonUpgrading, "%d of %d are up to date, %d are being upgraded",
			p.counts[upToDate], p.matched, p.counts[upgrading]))
	case len(p.failures) > 0:
		return outcome.And(reconcile.Refuse(reasonStopped, "%d of %d could not be upgraded", len(p.failures), p.matched))
	default:
		return outcome
	}
}

// atMost returns how many of a number may be unavailable, at least one.
func atMost(limit *intstr.IntOrString, of int) int {
	if limit == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, of, true)
	if err != nil {
		return 1
	}
	return max(1, n)
}

// others are releases with what they select.
type others []struct {
	name     string
	selector labels.Selector
}

// olderThan returns the releases that act where both match, the oldest first.
func olderThan(release *iotv1alpha1.IotConnectorRelease, all []iotv1alpha1.IotConnectorRelease) others {
	age := func(a, b *iotv1alpha1.IotConnectorRelease) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b iotv1alpha1.IotConnectorRelease) int { return age(&a, &b) })
	var found others
	for i := range sorted {
		r := &sorted[i]
		if r.DeletionTimestamp != nil || age(r, release) >= 0 {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector); err == nil {
			found = append(found, struct {
				name     string
				selector labels.Selector
			}{r.Name, selector})
		}
	}
	return found
}

// match returns the first release that selects a connector.
func (o others) match(c *iotv1alpha1.IotConnector) string {
	for _, r := range o {
		if r.selector.Matches(labels.Set(c.Labels)) {
			return r.name
		}
	}
	return ""
}
