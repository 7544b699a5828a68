package openstack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// crowdOf is how many objects meet a cloud that does not answer: five times as many as
// objects of a kind have turns there.
const crowdOf = 40

// TestFairShares: clouds and image servers that hang, or that answer Retry-After, do not delay
// other tenants. The test asserts order, not time.
func TestFairShares(t *testing.T) {
	operator.Start(t, only)
	for name, test := range map[string]func(*testing.T){
		"a cloud hangs at login":          testHangsAtLogin,
		"a cloud hangs":                   testHangs,
		"a cloud asks for an hour":        testAsksForAnHour,
		"a namespace floods one cloud":    testFloods,
		"sources of images do not answer": testSourcesHang,
	} {
		t.Run(name, test)
	}
}

// badWorld is a world whose cloud misbehaves, with many Networks.
func badWorld(t *testing.T, fault emulator.Fault) *world {
	t.Helper()
	w := untidyWorld(t)
	t.Cleanup(w.tidyUp) // A creation without an answer may be carried out late: remaining resources are not checked.
	fault.Times = -1
	w.cloud.AddFault(fault)
	w.networks(crowdOf)
	return w
}

// networks applies so many Networks.
func (w *world) networks(n int) {
	w.t.Helper()
	manifests := make([]string, 0, n)
	for i := range n {
		manifests = append(manifests, managed("Network", fmt.Sprint("net-", i), "{}"))
	}
	w.apply(manifests...)
}

// howMany returns how many of the Networks are Available.
func (w *world) howMany(n int) (available int) {
	w.t.Helper()
	for i := range n {
		if got, _ := find(w.get("Network", fmt.Sprint("net-", i)), "Available"); got.status == "True" {
			available++
		}
	}
	return available
}

// called waits until a cloud was called.
func (w *world) called(n int) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if got := w.cloud.CallCount(""); got < n {
			return fmt.Errorf("%d calls", got)
		}
		return nil
	})
}

// serves expects another cloud to be usable while none of the bad cloud's Networks is
// Available.
func (w *world) serves(bad *world) {
	w.t.Helper()
	w.networks(3)
	w.available("Network", "net-0", "net-1", "net-2")
	if n := bad.howMany(crowdOf); n > 0 {
		w.t.Errorf("%d Networks of the bad cloud are Available", n)
	}
}

func testHangsAtLogin(t *testing.T) {
	bad := badWorld(t, emulator.Fault{Service: "identity", Delay: 12 * time.Second})
	bad.called(1)
	newWorld(t).serves(bad)
}

func testHangs(t *testing.T) {
	bad := badWorld(t, emulator.Fault{Service: "network", Method: "POST", Delay: 25 * time.Second})
	bad.called(8)
	newWorld(t).serves(bad)
}

func testAsksForAnHour(t *testing.T) {
	bad := badWorld(t, emulator.Fault{Service: "network", Status: http.StatusTooManyRequests, RetryAfter: 3600})
	testenv.Eventually(t, func() error {
		told := 0
		for i := range crowdOf {
			got, _ := find(bad.get("Network", fmt.Sprint("net-", i)), "Progressing")
			if strings.Contains(got.message, "fails or does not answer; one object asks again within 5m0s") {
				told++
			}
		}
		if told < crowdOf/2 {
			return fmt.Errorf("%d Networks say when the cloud is asked again", told)
		}
		return nil
	})
	calls := bad.cloud.CallCount("network")
	newWorld(t).serves(bad)
	if now := bad.cloud.CallCount("network"); now != calls || now > 10 {
		t.Errorf("the cloud that wants to be left alone was called %d times, then %d times", calls, now)
	}
}

func testFloods(t *testing.T) {
	w := newWorld(t)
	n := w.neighbour()
	w.cloud.SetLatency(time.Second) // The flood lasts for ten seconds and more.
	w.networks(100)
	w.called(12)
	n.networks(1)
	n.available("Network", "net-0")
	id := n.id("Network", "net-0")
	first := slices.IndexFunc(w.cloud.Inventory()["network/networks"], func(i emulator.Item) bool { return i.ID == id })
	if first < 0 || first > 50 {
		t.Errorf("%d of 100 Networks of another namespace were created first", first)
	}
	w.cloud.SetLatency(0)
}

func testSourcesHang(t *testing.T) {
	w := newWorld(t)
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return false
	}
	const sources = 12
	for i := range sources {
		name := fmt.Sprint("hangs-", i)
		w.apply(managed("Image", name, from(source(t, disk, hang), hashOf(disk))))
		w.says("Image", name, "Data is streamed to OpenStack")
	}
	n := w.neighbour()
	for _, good := range []*world{n, w} {
		good.apply(managed("Image", "good", from(source(t, disk, nil), hashOf(disk))))
		good.available("Image", "good")
	}
	for i := range sources {
		if got, _ := find(w.get("Image", fmt.Sprint("hangs-", i)), "Available"); got.status == "True" {
			t.Errorf("hangs-%d is Available", i)
		}
		w.delete("Image", fmt.Sprint("hangs-", i)) // Else the sources wait for their clients to go.
	}
	for i := range sources {
		w.gone("Image", fmt.Sprint("hangs-", i))
	}
}
