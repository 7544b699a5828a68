package kit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
)

// TestWithholdsEverywhere: no request of an actuator with a secret returns an error with the value of
// the secret, although the service repeats its secrets in each answer.
func TestWithholdsEverywhere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		if rq.Method == http.MethodPatch && strings.HasSuffix(rq.URL.Path, "/good") {
			_, _ = io.WriteString(w, `{"user":{"id":"good"}}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"NeutronError":{"type":"No","message":"no user with password hush"}}`)
	}))
	t.Cleanup(server.Close)
	table := Table[*openstackv1alpha1.User]{
		Path: "users", One: "user", Many: "users", Patch: true,
		Fields: func(external.Input[*openstackv1alpha1.User]) []Field { return nil },
		Tags:   func(*openstackv1alpha1.User) []string { return []string{"a"} },
	}
	a := Actuator[*openstackv1alpha1.User]{Table: &table, Client: &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{HTTPClient: *server.Client()}, Endpoint: server.URL + "/",
	}}.WithSecret("password", "hush")
	in := external.Input[*openstackv1alpha1.User]{Object: &openstackv1alpha1.User{}}
	of := func(id string) *Resource { return &Resource{map[string]any{"id": id}} }
	for name, call := range map[string]func() error{
		"Get":    func() error { _, err := a.Get(t.Context(), in, "bad"); return err },
		"Find":   func() error { _, err := a.Find(t.Context(), in, external.Search{Name: "n"}); return err },
		"List":   func() error { _, err := a.List(t.Context()); return err },
		"Create": func() error { _, err := a.Create(t.Context(), in); return err },
		"Update": func() error { _, err := a.Update(t.Context(), in, of("bad"), []string{"password"}); return err },
		"tags": func() error {
			_, err := a.Update(t.Context(), in, of("good"), []string{"password", tagsField})
			return err
		},
		"Delete": func() error { return a.Delete(t.Context(), in, "bad") },
	} {
		err := call()
		if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "[withheld]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
