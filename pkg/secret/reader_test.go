package secret_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/secret"
)

func TestMain(m *testing.M) { testenv.Main(m, testenv.WithoutPods(), testenv.KeepNamespaces()) }

// counting counts requests.
type counting struct {
	client.Client

	gets int
}

// Get implements client.Client.
func (c *counting) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	c.gets++
	return c.Client.Get(ctx, key, obj, o...)
}

// TestReader: the version of a Secret's data stays with a label, and changes with the data, also back to former data,
// and with another Secret of the name. A version that is known costs no request.
func TestReader(t *testing.T) {
	w := testenv.NewWorld(t, testenv.Client(t, scheme.Scheme))
	live := &counting{Client: w.C}
	r := secret.NewReader(live)
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "sql"}, StringData: map[string]string{"password": "a"},
	}
	key := types.NamespacedName{Namespace: w.NS, Name: "sql"}
	if data, version, err := r.Read(t.Context(), key, ""); data != nil || version != "" || err != nil {
		t.Errorf("a Secret that does not exist: %v, %q, %v", data, version, err)
	}
	w.Create(s)
	seen := map[string]bool{}
	version := func(isNew bool) string {
		t.Helper()
		found, err := r.Version(t.Context(), key, s.ResourceVersion)
		if err != nil || found == "" || seen[found] == isNew {
			t.Errorf("version %q, of %v before: %v", found, seen, err)
		}
		seen[found] = true
		before := live.gets
		if again, err := r.Version(t.Context(), key, s.ResourceVersion); again != found || err != nil || live.gets != before {
			t.Errorf("version %q became %q after %d requests: %v", found, again, live.gets-before, err)
		}
		data, read, err := r.Read(t.Context(), key, "")
		if string(data["password"]) != string(s.Data["password"]) || read != found || err != nil {
			t.Errorf("read %v, %q: %v", data, read, err)
		}
		return found
	}
	first := version(true)
	w.Update(s, func() { s.Labels = map[string]string{"a": "b"} })
	if got := version(false); got != first {
		t.Errorf("a label changed the version from %s to %s", first, got)
	}
	w.Update(s, func() { s.Data = map[string][]byte{"password": []byte("b")} })
	version(true)
	w.Update(s, func() { s.Data = map[string][]byte{"password": []byte("a")} })
	version(true)
	w.Delete(s)
	w.Gone(s)
	r.Forget(key)
	s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "sql"}, Data: s.Data}
	w.Create(s)
	version(true)
}
