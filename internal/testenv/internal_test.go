package testenv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/localcluster"
)

func TestEventuallyFails(t *testing.T) {
	missing := errors.New("the object is missing")
	gone := make(chan struct{})
	close(gone)
	cases := map[string]struct {
		reason string
		gone   <-chan struct{}
		also   string
	}{
		"too late":              {"the last error is the one to know", nil, "not within 50ms"},
		"control plane crashed": {"it will not come any more", gone, errControlPlane.Error()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := eventually(t.Context(), c.gone, 50*time.Millisecond, func() error { return missing })
			if !errors.Is(err, missing) || !strings.Contains(err.Error(), c.also) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
	calls := 0
	err := eventually(t.Context(), nil, time.Minute, func() error {
		if calls++; calls < 3 {
			return missing
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, error %v; want success at the third", calls, err)
	}
}

// TestGroupCRDs takes the files of the groups alone. A group without a file is kept as a path, which
// fails the start: a misspelt group must not leave out kinds in silence.
func TestGroupCRDs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.example_ones.yaml", "a.example_twos.yaml", "b.example_threes.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := newEnvironment(GroupCRDs(dir, "a.example", "c.example"))
	want := []string{"a.example_ones.yaml", "a.example_twos.yaml", "c.example_*.yaml"}
	for i := range want {
		want[i] = filepath.Join(dir, want[i])
	}
	if diff := cmp.Diff(want, e.crds); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := yamlFiles(want[2]); err == nil {
		t.Error("a group without a file is no error")
	}
}

// TestMissingBinaries shows that a test fails, and is not skipped, on a machine
// where nothing is built.
func TestMissingBinaries(t *testing.T) {
	e := newEnvironment(ControlPlane(func(o *localcluster.Options) { o.BinDir = t.TempDir() }))
	for range 2 {
		_, err := e.running(t.Context())
		if !errors.Is(err, localcluster.ErrNoBinaries) {
			t.Errorf("error %v, want %v", err, localcluster.ErrNoBinaries)
		}
	}
	if code := e.finish(0, os.Stderr); code != 0 {
		t.Errorf("exit code %d: there was nothing to stop", code)
	}
}

func TestFinishTellsLeaks(t *testing.T) {
	leak := errors.New("found a goroutine")
	cases := map[string]struct {
		reason     string
		code, want int
		said       bool
	}{
		"passed": {"a leak makes success a failure", 0, 1, true},
		"failed": {"a failed test may well have left something", 1, 1, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			e := &environment{findLeaks: func() error { return leak }}
			code := e.finish(c.code, &out)
			if code != c.want || strings.Contains(out.String(), leak.Error()) != c.said {
				t.Errorf("%s: code %d, said %q", c.reason, code, out.String())
			}
		})
	}
}

func TestCountsSince(t *testing.T) {
	text := func(posts string) []byte {
		return []byte(strings.ReplaceAll(`# HELP apiserver_request_total [STABLE] Counter
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",group="g",resource="r",scope="resource",subresource="",verb="POST"} 1
apiserver_request_total{code="201",group="g",resource="r",scope="namespace",subresource="",verb="POST"} POSTS
apiserver_request_total{code="0",group="g",resource="r",scope="namespace",subresource="",verb="WATCH"} 7
# TYPE apiserver_other counter
apiserver_other{verb="POST"} 9
`, "POSTS", posts))
	}
	before, err := parseRequests(text("2"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseRequests(text("5"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("g/r POST 201: 6\ng/r WATCH 0: 7", after.String()); diff != "" {
		t.Errorf("scopes are not summed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("g/r POST 201: 3", after.Since(before).String()); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if got := after.Writes().Total(); got != 6 {
		t.Errorf("%d writes, want 6: a watch is none", got)
	}
}

func TestYAMLFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := yamlFiles(dir); err == nil {
		t.Error("an empty directory is no error")
	}
	for _, name := range []string{"b.yml", "a.yaml", "README.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := yamlFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yml")}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
