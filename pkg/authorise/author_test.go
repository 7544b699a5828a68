package authorise_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/authorise"
)

// TestAuthors: what FormatAuthors writes, AuthorsOf reads. The order of authors and groups does not
// matter.
func TestAuthors(t *testing.T) {
	a := authorise.AuthorOf(authenticationv1.UserInfo{
		Username: "a", UID: "1", Groups: []string{"y", "x"}, Extra: map[string]authenticationv1.ExtraValue{"secret": {"s"}},
	})
	b := authorise.AuthorOf(authenticationv1.UserInfo{Username: "b"})
	text, err := authorise.FormatAuthors(a, b, a)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := authorise.FormatAuthors(b, a); again != text || err != nil {
		t.Errorf("another order gives %s, not %s: %v", again, text, err)
	}
	obj := &metav1.ObjectMeta{Annotations: map[string]string{authorise.AuthorsAnnotation: text}}
	want := []authorise.Author{{Username: "a", UID: "1", Groups: []string{"x", "y"}}, {Username: "b"}}
	if diff := cmp.Diff(want, authorise.AuthorsOf(obj)); diff != "" {
		t.Errorf("authors (-want +got):\n%s", diff)
	}
	if strings.Contains(text, "secret") {
		t.Errorf("extra fields of the user are in %s", text)
	}
}

// TestNoAuthors: without a record that can be read there is no author.
func TestNoAuthors(t *testing.T) {
	for _, text := range []string{"", "[]", "a", `{"username":"a"}`, `[{"username":1}]`} {
		obj := &metav1.ObjectMeta{Annotations: map[string]string{authorise.AuthorsAnnotation: text}}
		if got := authorise.AuthorsOf(obj); len(got) > 0 {
			t.Errorf("%q has the authors %v", text, got)
		}
	}
	many := authorise.Author{Username: "a", Groups: []string{strings.Repeat("g", 100_000)}}
	if _, err := authorise.FormatAuthors(many); err == nil || !strings.Contains(err.Error(), "fewer groups") {
		t.Errorf("a user in too many groups: %v", err)
	}
}
