package iot_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// sized multiplies a number of objects as the environment asks: IOT_SIZE=50 makes
// the 1,000 connectors of the design.
func sized(n int) int {
	if factor, err := strconv.Atoi(os.Getenv("IOT_SIZE")); err == nil && factor > 0 {
		return n * factor
	}
	return n
}

// long is how long a large step may take on a small machine.
const long = 20 * time.Minute

// TestRolloutSurvives upgrades many connectors by one release with maxUnavailable 10%, paused
// and resumed on the way, while the operator is killed three times. Each connector is upgraded
// exactly once.
func TestRolloutSurvives(t *testing.T) {
	process := operator.Exec(t)
	w := newWorld(t)
	n := sized(20)
	w.createAll(n, func(i int) client.Object { return w.version0(fmt.Sprintf("c%04d", i)) })
	eventually(t, func() error { return w.settled(n, 1) })

	before := testenv.Requests(t)
	begin := time.Now()
	connectors := w.follow(&iotv1alpha1.IotConnectorList{})
	r := w.release("rollout", 1)
	r.Spec.Strategy.MaxUnavailable = new(intstr.FromString("10%"))
	w.Create(r)
	for kill := 1; kill <= 3; kill++ {
		// Early, and by a watch: on a busy machine a list is late by many connectors.
		testenv.EventuallyWithin(t, long, func() error {
			if seen := version1(connectors.soFar()); seen < n*kill/8 {
				return fmt.Errorf("%d of %d are upgraded", seen, n)
			}
			return nil
		})
		process.Kill()
		upgraded := w.upgraded()
		if upgraded == n {
			t.Errorf("kill %d came when all were upgraded", kill)
		}
		t.Logf("killed after %d of %d", upgraded, n)
		process = operator.Exec(t)
		if kill == 2 {
			w.pause(r)
		}
	}
	eventually(t, func() error { return w.settled(n, 2) })
	if most := mostUnready(connectors.stop()); most > n/10 {
		t.Errorf("at one moment %d of %d were not Ready, at most %d may be", most, n, n/10)
	}
	t.Logf("%d upgraded in %s", n, time.Since(begin).Round(time.Millisecond))
	patches := testenv.Requests(t).Since(before).Where(func(r testenv.Request) bool {
		return r.Resource == "iotconnectors" && r.Subresource == "" && r.Verb == "PATCH" && r.Code == "200"
	})
	// Generation 2 means that each connector was written once. The API server may count a
	// request that it could not answer, because the operator was killed, under another code.
	if patches.Total() > n {
		t.Errorf("%d writes of %d connectors:\n%s", patches.Total(), n, patches)
	}
	eventually(t, func() error {
		if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		if int(r.Status.UpToDate) != n || r.Status.Upgrading != 0 || r.Status.Failed != 0 {
			return fmt.Errorf("%+v", r.Status)
		}
		return nil
	})
	w.tidyUp(long) // While the last of the operators runs.
}

// version1 returns how many connectors were seen at version 1.
func version1(events []watch.Event) int {
	names := map[string]bool{}
	for _, event := range events {
		if c := event.Object.(*iotv1alpha1.IotConnector); c.Spec.EffectiveVersion() == iotv1alpha1.Version1 {
			names[c.Name] = true
		}
	}
	return len(names)
}

// eventually waits long. A list of a thousand objects takes a while, and is repeated less
// often: it would be most of the load.
func eventually(t *testing.T, look func() error) {
	t.Helper()
	var next time.Time
	var seen error
	testenv.EventuallyWithin(t, long, func() error {
		if seen != nil && time.Now().Before(next) {
			return seen
		}
		begin := time.Now()
		seen = look()
		next = time.Now().Add(5 * time.Since(begin))
		return seen
	})
}

// createAll creates many objects, several at a time.
func (w *world) createAll(n int, object func(i int) client.Object) {
	w.T.Helper()
	group, ctx := errgroup.WithContext(w.T.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return w.C.Create(ctx, object(i)) })
	}
	if err := group.Wait(); err != nil {
		w.T.Fatal(err)
	}
}

// all returns the connectors of the namespace.
func (w *world) all() []iotv1alpha1.IotConnector {
	w.T.Helper()
	var list iotv1alpha1.IotConnectorList
	if err := w.C.List(context.WithoutCancel(w.T.Context()), &list, client.InNamespace(w.NS)); err != nil {
		w.T.Fatal(err)
	}
	return list.Items
}

// settled returns the connectors that are not Ready at a generation yet.
func (w *world) settled(n int, generation int64) error {
	ready := 0
	for _, c := range w.all() {
		for _, cond := range c.Status.Conditions {
			if cond.Type == "Ready" && cond.Status == metav1.ConditionTrue &&
				c.Generation == generation && cond.ObservedGeneration == generation {
				ready++
			}
		}
		if c.Generation > generation {
			w.T.Fatalf("%s is at generation %d: it was changed more than once", c.Name, c.Generation)
		}
	}
	if ready != n {
		return fmt.Errorf("%d of %d are Ready", ready, n)
	}
	return nil
}

// upgraded returns how many connectors are at version 1.
func (w *world) upgraded() int {
	w.T.Helper()
	n := 0
	for _, c := range w.all() {
		n += int(c.Spec.EffectiveVersion())
	}
	return n
}

// pause pauses a release until no upgrade is in progress any more, and resumes it.
func (w *world) pause(r *iotv1alpha1.IotConnectorRelease) {
	w.T.Helper()
	change(w, r, func(r *iotv1alpha1.IotConnectorRelease) { r.Spec.Strategy.Paused = true })
	w.released(r, metav1.ConditionFalse, "Paused")
	upgraded := w.upgraded()
	eventually(w.T, func() error {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		if r.Status.Upgrading > 0 {
			return fmt.Errorf("%d are being upgraded", r.Status.Upgrading)
		}
		return nil
	})
	if now := w.upgraded(); now != upgraded {
		w.T.Errorf("%d were upgraded while the release was paused", now-upgraded)
	}
	change(w, r, func(r *iotv1alpha1.IotConnectorRelease) { r.Spec.Strategy.Paused = false })
}
