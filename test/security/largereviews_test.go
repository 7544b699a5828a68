package security_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/test/operator"
)

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakOf returns the largest memory of a process so far, in MB.
func peakOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := peakMemory.FindSubmatch(text)
	if found == nil {
		t.Fatalf("no VmHWM in %s", text)
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes >> 10
}

// TestManyLargeReviews: a tenant sends dry runs of large ApplicationConfigurations at the same time. Each is refused in
// time with a reason: no call times out, so no error shows the path of a webhook, and the memory stays bounded.
func TestManyLargeReviews(t *testing.T) {
	process := operator.Exec(t, "--packs", "oam")
	l := newLand(t)
	tenant := l.user("tenant")
	l.allow(tenant, right("core.oam.dev", "applicationconfigurations", "create"))
	before := peakOf(t, process.PID())
	application := func(i int) client.Object {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("core.oam.dev/v1alpha2")
		u.SetKind("ApplicationConfiguration")
		u.SetNamespace(l.NS)
		u.SetName(fmt.Sprint("large", i))
		traits := make([]any, 60)
		for k := range traits {
			traits[k] = map[string]any{"trait": map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": strings.Repeat("x", 40<<10)},
			}}
		}
		u.Object["spec"] = map[string]any{"components": []any{map[string]any{"componentName": "a", "traits": traits}}}
		return u
	}
	const attempts = 16
	answers := make([]error, attempts)
	var all sync.WaitGroup
	for i := range attempts {
		all.Go(func() { answers[i] = l.As(tenant).Create(t.Context(), application(i), client.DryRunAll) })
	}
	all.Wait()
	for _, err := range answers {
		if err == nil || strings.Contains(err.Error(), "https://") {
			t.Errorf("a large ApplicationConfiguration is answered with %v", err)
		}
	}
	if after := peakOf(t, process.PID()); after > before+200 {
		t.Errorf("the memory rose from %d to %d MB", before, after)
	} else {
		t.Logf("the memory rose from %d to %d MB", before, after)
	}
}
