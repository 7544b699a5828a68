package chaos_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

var (
	hostileTime = flag.Duration("hostile", hostileShort, "how long TestHostile lasts")
	hostileSeed = flag.Uint64("hostile-seed", 0, "what TestHostile does, which it tells; if zero, see TestHostile")
	// hostileCgroup has the limit of a Pod's memory: an operator that exceeds the limit is killed, and the test fails.
	hostileCgroup = flag.String("hostile-cgroup", "", "the folder of a cgroup in which TestHostile runs its operators")
)

const (
	// hostileShort is how long TestHostile lasts for each change.
	hostileShort = 20 * time.Second
	// hostileFixed is the seed for each change: a change fails because of the change, and not by chance. Its first
	// fifty acts have a kill, a missing guard and seven moods.
	hostileFixed = 687
	// hostilePause is between what the tenant does and what he does next.
	hostilePause = 50 * time.Millisecond
	// hostileMemory is the most memory, in KiB, that an operator may ever take: what all
	// answers of clouds together may, twice, and what it takes without them.
	hostileMemory = 384 << 10
	// hostilePatience is how long somebody honest may wait for anything.
	hostilePatience = 3 * time.Minute
)

// TestHostile lets a tenant with all rights in one namespace, a cloud of his, an
// administrator who deletes guards by accident, and somebody who kills operators do what
// they like, in an order that a seed repeats, beside an honest tenant. What is his stays
// as it should be, and in the end nothing is left, nothing there twice, and nothing
// deleted that was to stay. Files hostileattacks_test.go and hostileforged_test.go have further attacks:
// large objects, slow connections, forged reviews, and an apprentice with few rights. A test that lasts
// longer than hostileShort has a seed by chance. A seed repeats its order until an act or a mood is added,
// so a fault gets a test of its own, such as TestHostileNamesakes.
//
//	go test ./test/chaos -run TestHostile -timeout 20m -hostile 10m
//	go test ./test/chaos -run TestHostile -hostile-seed 42
//	go test ./test/chaos -run TestHostile -timeout 20m -hostile 10m -hostile-cgroup "$(hack/cgroup.sh make 512)"
func TestHostile(t *testing.T) {
	if *hostileSeed != 0 || *hostileTime <= hostileShort {
		hostile(t, cmp.Or(*hostileSeed, hostileFixed), *hostileTime)
		return
	}
	hostile(t, rand.Uint64(), *hostileTime)
}

// afternoon is a run of TestHostile.
type afternoon struct {
	t      *testing.T
	random *rand.Rand
	honest *honest
	tenant *tenant
	cloud  *evilCloud
	azure  *evilAzure

	process *operator.Process
	peak    int // of memory, of all operators so far
	guards  []client.Object
	counts  map[string]int
	// moods and lost are the decks from which act draws the cloud's next mood and the next
	// guard to delete: a short afternoon has all moods and many guards.
	moods []string
	lost  []client.Object
}

// hostileArgs add packs to those of this test binary.
var hostileArgs = []string{"--packs", "openstack,iot,oam", "--openstack-qps", "1000"}

func hostile(t *testing.T, seed uint64, length time.Duration) {
	t.Helper()
	t.Logf("-hostile-seed %d", seed)
	a := &afternoon{t: t, random: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}}
	a.azure = newEvilAzure(t)
	enableAzure(t, operator.Client(t))
	a.process = operator.ExecIn(t, *hostileCgroup, a.args()...)
	a.honest = newHonest(t, a.azure)
	a.cloud = newEvilCloud(t, seed, a.honest.ids)
	a.azure.moods.Store(a.cloud)
	a.findGuards()

	endWork := a.honest.startWork()
	defer endWork()
	if length > hostileShort {
		a.honest.latencies.awaitQuiet(t)
	}
	a.honest.latencies.hostile.Store(true)
	a.tenant = newTenant(t, rand.New(rand.NewPCG(seed, 3)), a.cloud, a.honest.ns)
	end, pause := time.After(length), time.NewTicker(hostilePause)
	defer pause.Stop()
	for over := false; !over && !t.Failed(); {
		a.act()
		select {
		case <-end:
			over = true
		case <-pause.C:
		}
	}
	endWork()
	a.cloud.become("good")
	a.restart() // So that nothing is told from memory alone.
	t.Logf("done: %v; %v; cloud: %v; Azure: %v", a.counts, a.tenant.counts, a.cloud.good.CallCount(""),
		a.azure.good.CallCount(""))
	t.Logf("answers of the hostile clouds: %v", a.cloud.answered())
	if length > hostileShort {
		a.checkMoods()
	}
	a.honest.check()
	a.tenant.check()
	a.azure.gone.Store(true) // As with the other cloud: see leave.
	a.tenant.leave()
	a.honest.leave()
	a.measure()
	t.Logf("operators took at most %d MiB%s", a.peak>>10, cgroupPeak(t))
	a.honest.latencies.log(t)
	if n := a.cloud.trapped.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// checkMoods fails for a mood in which a hostile cloud has not answered.
func (a *afternoon) checkMoods() {
	answered := a.cloud.answered()
	for _, mood := range moods {
		for _, cloud := range []string{"OpenStack", "Azure"} {
			if answered[cloud+" "+mood] == 0 {
				a.t.Errorf("the hostile %s has not answered in the mood %s", cloud, mood)
			}
		}
	}
}

// act does one thing.
func (a *afternoon) act() {
	switch n := a.random.IntN(200); {
	case n < 2:
		a.counts["kill"]++
		a.restart()
	case n < 4:
		a.loseGuard(draw(a.random, &a.lost, a.guards), false)
	case n == 4:
		a.loseGuard(draw(a.random, &a.lost, a.guards), true)
	case n < 15:
		mood := draw(a.random, &a.moods, moods)
		a.counts[mood]++
		a.cloud.become(mood)
	default:
		a.tenant.act()
	}
}

// draw takes the first of a shuffled deck. An empty deck is filled with all and shuffled again,
// so that each of all is drawn once before any is drawn again.
func draw[T any](random *rand.Rand, deck *[]T, all []T) T {
	if len(*deck) == 0 {
		*deck = slices.Clone(all)
		random.Shuffle(len(all), func(i, j int) { (*deck)[i], (*deck)[j] = (*deck)[j], (*deck)[i] })
	}
	next := (*deck)[0]
	*deck = (*deck)[1:]
	return next
}

// restart kills the operator and starts another.
func (a *afternoon) restart() {
	a.t.Helper()
	defer a.honest.latencies.disturb()()
	a.measure()
	a.process.Kill()
	a.process = operator.ExecIn(a.t, *hostileCgroup, a.args()...)
}

// args are the flags of the operator.
func (a *afternoon) args() []string {
	return slices.Concat(hostileArgs, []string{"--packs", "azure"}, a.azure.args())
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// measure reads how much memory the operator has taken at most, and that it has not ended
// by itself.
func (a *afternoon) measure() {
	a.t.Helper()
	if err := syscall.Kill(a.process.PID(), 0); err != nil {
		a.t.Fatalf("the operator has ended by itself: %v", err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.process.PID()))
	if err != nil {
		a.t.Fatal(err)
	}
	found := peakMemory.FindSubmatch(status)
	if found == nil {
		a.t.Fatalf("no memory in %s", status)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		a.t.Fatal(err)
	}
	if a.peak = max(a.peak, kib); kib > hostileMemory {
		a.t.Errorf("the operator took %d MiB, more than %d", kib>>10, hostileMemory>>10)
	}
	if log := a.process.Log(); strings.Contains(log, "panic:") || strings.Contains(log, "Observed a panic") {
		a.t.Error("the operator has panicked")
	}
}

// cgroupPeak returns the most memory that the cgroup of all operators took, if there is a cgroup.
func cgroupPeak(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"memory.max_usage_in_bytes", "memory.peak"} { // Of version 1 and of version 2.
		text, err := os.ReadFile(filepath.Join(*hostileCgroup, name))
		if *hostileCgroup == "" || err != nil {
			continue
		}
		taken, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(", the cgroup at most %d MiB with files that the kernel caches", taken>>20)
	}
	return ""
}

// findGuards finds all webhook configurations, policies and bindings.
func (a *afternoon) findGuards() {
	a.t.Helper()
	objects, err := install.Objects(options.Options{Packs: []string{"usage", "openstack", "iot", "oam", "azure"}}, true)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, obj := range objects {
		gvk, err := a.honest.c.GroupVersionKindFor(obj)
		if err != nil {
			a.t.Fatal(err)
		}
		if gvk.Group == admissionregistrationv1.GroupName {
			a.guards = append(a.guards, obj)
		}
	}
}

// loseGuard deletes a guard. While it is gone the honest tenant tries nothing that it
// alone refuses. It comes back, if the operator is killed as well.
func (a *afternoon) loseGuard(guard client.Object, kill bool) {
	a.t.Helper()
	defer a.honest.latencies.disturb()()
	a.honest.guarded.Lock()
	defer a.honest.guarded.Unlock()
	a.counts[fmt.Sprintf("%T", guard)]++
	before := guard.DeepCopyObject().(client.Object)
	if err := a.honest.c.Get(a.t.Context(), client.ObjectKeyFromObject(guard), before); err != nil {
		a.t.Errorf("guard %s: %v", guard.GetName(), err)
		return
	}
	if err := a.honest.c.Delete(a.t.Context(), before.DeepCopyObject().(client.Object)); err != nil {
		a.t.Errorf("delete guard %s: %v", guard.GetName(), err)
		return
	}
	if kill {
		a.restart()
	}
	testenv.Eventually(a.t, func() error {
		now := guard.DeepCopyObject().(client.Object)
		if err := a.honest.c.Get(a.t.Context(), client.ObjectKeyFromObject(guard), now); err != nil {
			return err
		}
		if now.GetUID() == before.GetUID() {
			return errors.New("the guard is still that which was deleted")
		}
		return nil
	})
	a.honest.awaitRefusals()
}
