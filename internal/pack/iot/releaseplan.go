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
	"k8s.io/utils/ptr"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Reasons of the conditions of an IotConnectorRelease.
const (
	reasonPaused    = "Paused"
	reasonStopped   = "TooManyFailures"
	reasonContested = "Contested"
	reasonUpgrading = "Upgrading"
	reasonDone      = "UpToDate"
)

const (
	// maxFailures bounds status.failures, and maxNamed the objects that a condition names.
	maxFailures = 32
	maxNamed    = 5
	// maxReason bounds ReleaseFailure.Reason, in bytes.
	maxReason = 1024
)

// standing is the state of an IotConnector from the view of a release.
type standing int

const (
	upToDate  standing = iota // upgraded, and Ready
	upgrading                 // upgraded, and not Ready yet
	failed                    // upgraded by the release, unchanged since, and Stalled
	broken                    // upgraded, and Stalled after a change by another client
	behind                    // not upgraded, and Ready
	ailing                    // not upgraded, and not Ready
	returned                  // rolled back, after the release had upgraded the IotConnector
	denied                    // not upgraded, because an admission webhook or policy refused
)

// plan is the decision of a release in one pass.
type plan struct {
	release *iotv1alpha1.IotConnectorRelease
	// next lists the IotConnectors to upgrade now.
	next     []upgrade
	counts   map[standing]int
	matched  int
	failures []iotv1alpha1.ReleaseFailure
	// contested lists the IotConnectors that an older release selects too.
	contested []contest
}

// upgrade is an IotConnector before and after the upgrade.
type upgrade struct{ before, after *iotv1alpha1.IotConnector }

type contest struct{ connector, release string }

// attempts holds the results of earlier passes of a release.
type attempts struct {
	// unseen reports whether an IotConnector was upgraded, and the cache does not show that yet.
	unseen func(*iotv1alpha1.IotConnector) bool
	// denied holds the refused upgrades by name of the IotConnector.
	denied map[string]denial
	now    time.Time
}

// newPlan returns the plan of a release. all and connectors are the releases and IotConnectors of
// the namespace. newPlan changes neither.
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
			p.fail(c.Name, "rolled back after the upgrade by this release; for another upgrade, "+
				"remove annotation "+iotv1alpha1.AnnotationRelease)
		case denied:
			p.fail(c.Name, tried.denied[c.Name].reason)
			if !tried.now.Before(tried.denied[c.Name].again) {
				again = append(again, c)
			}
		case behind, ailing:
			waiting = append(waiting, c)
		case upToDate, upgrading, broken: // Nothing to write.
		}
	}
	p.choose(again, waiting)
	slices.SortFunc(p.contested, func(a, b contest) int { return cmp.Compare(a.connector, b.connector) })
	p.sortFailures()
	return p, nil
}

// after returns the standing of an IotConnector, with regard to earlier attempts.
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

// standing compares an IotConnector with the spec of the release.
func (p *plan) standing(c *iotv1alpha1.IotConnector) standing {
	observed := c.Status.ObservedGeneration == c.Generation
	ready := observed && meta.IsStatusConditionTrue(c.Status.Conditions, conditionReady)
	stalled := observed && meta.IsStatusConditionTrue(c.Status.Conditions, conditionStalled)
	asked := c.Spec.EffectiveVersion() >= p.release.Spec.Version && !p.otherImages(c)
	switch {
	case c.Spec.EffectiveVersion() < p.release.Spec.Version && p.marked(c):
		return returned // Only a rollback lowers spec.version, so the upgrade has failed.
	case !asked && ready:
		return behind
	case !asked:
		return ailing
	case ready:
		return upToDate
	case stalled && c.Annotations[iotv1alpha1.AnnotationRelease] == p.mark(c.Generation):
		return failed
	case stalled:
		return broken // Another client wrote the spec, so the release goes on.
	default:
		return upgrading
	}
}

// mark returns the value of AnnotationRelease for a generation that the release wrote. A user who
// may write the IotConnector may write the annotation too, and only changes whether that
// IotConnector counts as failed.
func (p *plan) mark(generation int64) string {
	return fmt.Sprintf("%s/%d", p.release.UID, generation)
}

// marked reports whether the release has upgraded an IotConnector, in any generation.
func (p *plan) marked(c *iotv1alpha1.IotConnector) bool {
	return strings.HasPrefix(c.Annotations[iotv1alpha1.AnnotationRelease], string(p.release.UID)+"/")
}

// choose picks the IotConnectors to upgrade now: the oldest first, and at most
// spec.strategy.maxUnavailable at a time. A denied IotConnector counts as failed, but is tried
// again even if the denials have stopped the release.
func (p *plan) choose(again, waiting []*iotv1alpha1.IotConnector) {
	strategy := p.release.Spec.Strategy
	if strategy.Paused {
		return
	}
	slices.SortFunc(waiting, byAge)
	most := atMost(strategy.MaxUnavailable, p.matched)
	changing := p.counts[upgrading]
	down := changing + p.counts[ailing] // maxFailures limits failed upgrades.
	if len(p.failures)-p.counts[denied] < p.limit() {
		for _, c := range again[:min(len(again), max(most-down, 0))] {
			if err := p.begin(c); err == nil { // A denied upgrade got past p.change before.
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
			continue // An ailing IotConnector further down the list may still be upgraded.
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

// begin adds an IotConnector to plan.next.
func (p *plan) begin(c *iotv1alpha1.IotConnector) error {
	after := c.DeepCopy()
	if err := p.change(after); err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, iotv1alpha1.AnnotationRelease, p.mark(c.Generation+1))
	p.next = append(p.next, upgrade{c, after})
	return nil
}

// deny counts an IotConnector of plan.next as denied.
func (p *plan) deny(c *iotv1alpha1.IotConnector, reason string) {
	if slices.ContainsFunc(p.failures, func(f iotv1alpha1.ReleaseFailure) bool { return f.Name == c.Name }) {
		return // This is a repeated attempt.
	}
	p.counts[upgrading]--
	p.counts[denied]++
	p.fail(c.Name, reason)
	p.sortFailures()
}

func (p *plan) sortFailures() {
	slices.SortFunc(p.failures, func(a, b iotv1alpha1.ReleaseFailure) int { return cmp.Compare(a.Name, b.Name) })
}

// change upgrades an IotConnector to the version and images of the release.
func (p *plan) change(c *iotv1alpha1.IotConnector) error {
	if p.release.Spec.Version >= iotv1alpha1.Version1 {
		// Without internal service names, iot.NameOf derives the names of the Deployments.
		if _, err := iot.Upgrade(c, nil); err != nil {
			return err
		}
	}
	p.eachImage(c, func(image *string, want string) { *image = want })
	return nil
}

// otherImages reports whether an IotConnector has other images than spec.images of the release.
func (p *plan) otherImages(c *iotv1alpha1.IotConnector) bool {
	other := false
	p.eachImage(c, func(image *string, want string) { other = other || *image != want })
	return other
}

// eachImage calls f for each container whose type is in spec.images of the release.
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

// image returns the image for a type. FhirTransformation is an alias of FhirConverter.
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

// stopped reports whether as many upgrades have failed as spec.strategy.maxFailures allows.
func (p *plan) stopped() bool { return len(p.failures) >= p.limit() }

// limit returns how many failures stop the release.
func (p *plan) limit() int { return int(ptr.Deref(p.release.Spec.Strategy.MaxFailures, 1)) }

// outcome returns which IotConnectors are not up to date.
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

// atMost returns spec.strategy.maxUnavailable as a number of IotConnectors, at least 1.
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

// byAge orders objects by age, the oldest first.
func byAge[T metav1.Object](a, b T) int {
	created := a.GetCreationTimestamp()
	return cmp.Or(created.Compare(b.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
}

// others is a list of releases with their spec.selector.
type others []other

type other struct {
	name     string
	selector labels.Selector
}

// olderThan returns the releases that are older than a release, the oldest first. If two
// releases select an IotConnector, the older release upgrades the IotConnector.
func olderThan(release *iotv1alpha1.IotConnectorRelease, all []iotv1alpha1.IotConnectorRelease) others {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b iotv1alpha1.IotConnectorRelease) int { return byAge(&a, &b) })
	var found others
	for i := range sorted {
		r := &sorted[i]
		if r.DeletionTimestamp != nil || byAge(r, release) >= 0 {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector); err == nil {
			found = append(found, other{r.Name, selector})
		}
	}
	return found
}

// match returns the first release that selects an IotConnector.
func (o others) match(c *iotv1alpha1.IotConnector) string {
	for _, r := range o {
		if r.selector.Matches(labels.Set(c.Labels)) {
			return r.name
		}
	}
	return ""
}
