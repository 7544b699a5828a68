package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFindBinDir(t *testing.T) {
	built := t.TempDir()
	bin := filepath.Join(built, "bin", "k8s")
	deep := filepath.Join(built, "internal", "deep")
	for _, dir := range []string{bin, deep} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, APIServer), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bare := t.TempDir()
	cases := map[string]struct {
		reason          string
		named, env, cwd string
		want            string
	}{
		"named":        {"what the caller names comes first", bin, bare, bare, bin},
		"env":          {"then the variable that envtest reads too", "", bin, bare, bin},
		"above":        {"then the checkout we stand in, at any depth", "", "", deep, bin},
		"nowhere":      {"a bare machine is told what to do", "", "", bare, ""},
		"named wrong":  {"a misspelt place is not replaced by a guess", bare, bin, deep, ""},
		"env is wrong": {"nor is a misspelt variable", "", bare, deep, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(assetsVar, c.env)
			t.Chdir(c.cwd)
			got, err := findBinDir(c.named)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if (c.want == "") != errors.Is(err, ErrNoBinaries) {
				t.Errorf("%s: error %v", c.reason, err)
			}
		})
	}
}

func TestStartWithoutBinaries(t *testing.T) {
	t.Setenv(assetsVar, "")
	t.Chdir(t.TempDir())
	_, err := Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "run `make build`") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

// TestStartFails shows that a program that refuses its arguments is quoted, and
// that nothing is left of the attempt.
func TestStartFails(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, err := Start(t.Context(), Options{ExtraArgs: map[string][]string{APIServer: {"--no-such-flag"}}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("the error does not quote the program: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(temp, tempPattern))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), left); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

// TestKwokCrashes kills kwok three times, as its own faults do: kwok is started again.
func TestKwokCrashes(t *testing.T) {
	c, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		p, err := c.process(Kwok)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.kill(); err != nil {
			t.Fatal(err)
		}
		err = poll(t.Context(), func(ctx context.Context) error {
			again, err := c.process(Kwok)
			if err != nil || again == p {
				return fmt.Errorf("kwok is not started again: %w", err)
			}
			return again.ready(ctx, c.probe)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Err(); err != nil {
			t.Fatalf("the control plane ended with kwok: %v", err)
		}
	}
	last, err := c.process(Kwok)
	if err != nil {
		t.Fatal(err)
	}
	if err := last.kill(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "kwok ended unexpectedly") {
		t.Errorf("after its fourth crash: %v", err)
	}
}

// TestPortClash takes the port from under the API server.
func TestPortClash(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port

	t.Run("the port that was asked for", func(t *testing.T) {
		_, err := Start(t.Context(), Options{Port: port})
		if err == nil || !isPortClash(err) {
			t.Errorf("error %v, want an address in use", err)
		}
	})
	t.Run("a port that was free a moment ago", func(t *testing.T) {
		args := map[string][]string{APIServer: {fmt.Sprintf("--secure-port=%d", port)}}
		binDir, err := findBinDir("")
		if err != nil {
			t.Fatal(err)
		}
		_, err = startOnce(t.Context(), binDir, Options{ExtraArgs: args, WithoutPods: true})
		if err == nil || !isPortClash(err) {
			t.Errorf("not recognised as a port clash: %v", err)
		}
	})
}

func TestWithFreshPorts(t *testing.T) {
	clash := errors.New("listen: address already in use")
	other := errors.New("unknown flag")
	cases := map[string]struct {
		reason string
		errs   []error
		tries  int
		want   error
	}{
		"lost once":   {"a lost port is replaced", []error{clash, nil}, 2, nil},
		"lost always": {"but not for ever", []error{clash, clash, clash, nil}, startAttempts, clash},
		"other":       {"another failure would only repeat", []error{other, nil}, 1, other},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tries := 0
			_, err := withFreshPorts(func() (*Cluster, error) {
				tries++
				return nil, c.errs[tries-1]
			})
			if !errors.Is(err, c.want) || tries != c.tries {
				t.Errorf("%s: %d tries, error %v; want %d, %v", c.reason, tries, err, c.tries, c.want)
			}
		})
	}
}

func TestLayers(t *testing.T) {
	cases := map[string]struct {
		reason string
		opts   Options
		want   [][]string
	}{
		"whole": {
			"each layer needs those before it",
			Options{},
			[][]string{{Etcd}, {APIServer}, {ControllerManager, Scheduler, Kwok}},
		},
		"without pods": {
			"nobody schedules what nobody runs",
			Options{WithoutPods: true},
			[][]string{{Etcd}, {APIServer}, {ControllerManager}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.opts.ExtraArgs = map[string][]string{APIServer: {"--last"}}
			var got [][]string
			for _, layer := range (plan{dir: "/data"}).layers(c.opts) {
				var names []string
				for _, part := range layer {
					names = append(names, part.name)
					if last := part.args[len(part.args)-1]; (last == "--last") != (part.name == APIServer) {
						t.Errorf("the last argument of %s is %s", part.name, last)
					}
				}
				got = append(got, names)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestPollKeepsTheLastError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*pollInterval)
	defer cancel()
	missing := errors.New("node is missing")
	err := poll(ctx, func(context.Context) error { return missing })
	if !errors.Is(err, missing) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want both the reason and the deadline", err)
	}
	if err := poll(t.Context(), func(context.Context) error { return final(missing) }); !errors.Is(err, missing) {
		t.Errorf("error %v, want the final one at once", err)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	lines := make([]string, 100)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d", i)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Join(lines[100-tailLines:], "\n"), tail(path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	crash := strings.Join(lines, "\n") + "\npanic: no port\n\ngoroutine 1 [running]:\n" + strings.Join(lines, "\n")
	if err := os.WriteFile(path, []byte(crash), 0o600); err != nil {
		t.Fatal(err)
	}
	want := strings.Join(lines[101-tailLines:], "\n") + "\npanic: no port"
	if diff := cmp.Diff(want, tail(path)); diff != "" {
		t.Errorf("of a crash (-want +got):\n%s", diff)
	}
	if got := tail(filepath.Join(t.TempDir(), "none")); !strings.Contains(got, "no such file") {
		t.Errorf("tail of a missing file: %q", got)
	}
}

// TestRemoveAbandoned: Start removes the files of a killed program, and keeps the files of
// running and starting programs.
func TestRemoveAbandoned(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-time.Hour)
	makeDir := func(name string, age time.Time) string {
		dir := filepath.Join(temp, "kinship-cluster-"+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, age, age); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	makeDir("abandoned", old)
	newborn := makeDir("newborn", time.Now())
	alive := makeDir("alive", old)
	lock, err := lockFile(layout(alive).lock())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()

	removeAbandoned()
	got, err := filepath.Glob(filepath.Join(temp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{alive, newborn}, got); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
