package certificate

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// begin is mustEnsure for a replica that starts.
func begin(t *testing.T, m *Manager) Bundle {
	t.Helper()
	bundle, err := m.Begin(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// standing is Check with an error that fails the test.
func standing(t *testing.T, m *Manager, path string) Standing {
	t.Helper()
	s, err := m.Check(testContext(t), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPathOfEachStart: each replica that starts replaces the path. The path of before is accepted until the
// configurations have the new path, and a replica that has not seen the change yet reads the Secret.
func TestPathOfEachStart(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	first := New(options)
	one := begin(t, first).Path
	second := New(options)
	two := begin(t, second).Path
	if one == two {
		t.Fatal("the second replica keeps the path that an error may have shown")
	}
	if got := standing(t, second, one); got != Former {
		t.Errorf("before the configurations are written, the path of before is %v, want %v", got, Former)
	}
	if got := standing(t, first, two); got != Present {
		t.Errorf("for the first replica, the new path is %v, want %v", got, Present)
	}
	for _, unknown := range []string{"", "x", two[:25], two + "a"} {
		if got := standing(t, second, unknown); got != Unknown {
			t.Errorf("path %q is %v, want %v", unknown, got, Unknown)
		}
	}
}

// TestSuspect: a path that a user may know is replaced in every replica, and the former path is worthless once the
// configurations have the new one. The log has the time in which both were accepted.
func TestSuspect(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	options.PathPause = time.Millisecond
	var published atomic.Pointer[string]
	options.OnBundle = func(_ context.Context, b Bundle) error {
		published.Store(&b.Path)
		return nil
	}
	one, other := New(options), New(options)
	begin(t, one)
	begin(t, other)
	start(t, one)
	start(t, other)
	var known string
	testenv.Eventually(t, func() error { // A server checks a path before it suspects the path.
		known = awaitPath(t, &published, "")
		if got := standing(t, one, known); got != Present {
			return fmt.Errorf("path %q is %v", known, got)
		}
		return nil
	})
	replaced := time.Now()
	one.Suspect(known)
	one.Suspect(known) // A second call asks for nothing more.
	next := awaitPath(t, &published, known)
	for _, m := range []*Manager{one, other} {
		testenv.Eventually(t, func() error {
			if got := standing(t, m, known); got != Unknown {
				return fmt.Errorf("the known path is %v", got)
			}
			return nil
		})
		if got := standing(t, m, next); got != Present {
			t.Errorf("the new path is %v, want %v", got, Present)
		}
	}
	if overlap := time.Since(replaced); overlap < pathGrace {
		t.Errorf("the former path was accepted for %v only: an API server may still have sent requests", overlap)
	} else {
		t.Logf("both paths were accepted for %v", overlap)
	}
	one.Suspect(known) // A late report about the former path.
	if got := standing(t, one, next); got != Present {
		t.Error("a report about a former path replaces the present one")
	}
}

// awaitPath waits for a published path other than the given one.
func awaitPath(t *testing.T, published *atomic.Pointer[string], other string) (path string) {
	t.Helper()
	testenv.Eventually(t, func() error {
		p := published.Load()
		if p == nil || *p == other {
			return fmt.Errorf("no path but %q is published", other)
		}
		path = *p
		return nil
	})
	return path
}

// TestPathRemoved: an administrator removes the path from the Secret, and a running replica writes another one, with
// the same CA.
func TestPathRemoved(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	var published atomic.Pointer[string]
	options.OnBundle = func(_ context.Context, b Bundle) error {
		published.Store(&b.Path)
		return nil
	}
	m := New(options)
	before := begin(t, m)
	start(t, m)
	known := awaitPath(t, &published, "")
	secret, _ := stored(t, m)
	removed := secret.DeepCopy()
	delete(removed.Data, PathKey)
	if err := options.Client.Patch(t.Context(), removed, client.MergeFrom(secret)); err != nil {
		t.Fatal(err)
	}
	awaitPath(t, &published, known)
	if after, _ := m.Current(); string(after.CA) != string(before.CA) {
		t.Error("the CA changed too")
	}
}

// TestFormerPathsAreBounded replaces the path many times without a publication.
func TestFormerPathsAreBounded(t *testing.T) {
	var p paths
	now := epoch
	for i := range 100 {
		p.set(fmt.Sprint("path", i))
	}
	if len(p.former) != maxFormer || p.standing("path98", now) != Former || p.standing("path0", now) != Unknown {
		t.Errorf("former paths are %v", p.former)
	}
	p.published(now)
	if got := p.standing("path98", now.Add(pathGrace+1)); got != Unknown {
		t.Errorf("after the publication, a former path is %v", got)
	}
}
