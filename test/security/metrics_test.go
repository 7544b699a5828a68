package security_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// scraper reads metrics, as Prometheus does.
type scraper struct {
	land

	port int
}

// token returns one of a new ServiceAccount, which has the right to read metrics or not.
func (s scraper) token(name string, permitted bool) string {
	s.T.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: s.named(name)}
	s.Create(account)
	if permitted {
		s.Create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: s.NS + "-" + name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.NS, Name: name}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rights.MetricsReader},
		})
	}
	var request authenticationv1.TokenRequest
	if err := s.C.SubResource("token").Create(s.T.Context(), account, &request); err != nil {
		s.T.Fatal(err)
	}
	return request.Status.Token
}

// get returns how the operator answers; a status of 0 is no answer.
func (s scraper) get(scheme, token string) (status int, body string) {
	s.T.Helper()
	url := fmt.Sprintf("%s://127.0.0.1:%d/metrics", scheme, s.port)
	request, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // It is self-signed.
		DisableKeepAlives: true,
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// scrape waits until metrics are read: the API server learns of rights by a watch.
func (s scraper) scrape(token string) {
	s.T.Helper()
	testenv.Eventually(s.T, func() error {
		status, body := s.get("https", token)
		if status != http.StatusOK || !strings.Contains(body, "\nkinship_usages ") {
			return fmt.Errorf("answered with %d: %.200s", status, body)
		}
		return nil
	})
}

// TestMetricsAccess: on an address that others reach, metrics are for those alone whose
// token permits them, whatever flags are left out.
func TestMetricsAccess(t *testing.T) {
	port := testenv.FreePort(t)
	operator.Exec(t, "--metrics-bind-address", fmt.Sprintf(":%d", port))
	s := scraper{newLand(t), port}
	stranger, reader := s.token("stranger", false), s.token("reader", true)
	for reason, tt := range map[string]struct {
		token string
		want  int
	}{
		"nobody":                    {"", http.StatusUnauthorized},
		"a token that nobody has":   {"x", http.StatusUnauthorized},
		"a token without the right": {stranger, http.StatusForbidden},
	} {
		if status, body := s.get("https", tt.token); status != tt.want || strings.Contains(body, "kinship_usages") {
			t.Errorf("%s: answered with %d: %.100s; want %d", reason, status, body, tt.want)
		}
	}
	for _, token := range []string{"", reader} { // The connection is reset, with or without an answer before.
		if status, body := s.get("http", token); status == http.StatusOK {
			t.Errorf("plain HTTP is answered: %.100s", body)
		}
	}
	s.scrape(reader)
}

// TestInsecureMetrics: whoever asks for plain HTTP gets it.
func TestInsecureMetrics(t *testing.T) {
	port := testenv.FreePort(t)
	operator.Exec(t, "--metrics-secure=false", "--metrics-bind-address", fmt.Sprintf("127.0.0.1:%d", port))
	s := scraper{newLand(t), port}
	if status, body := s.get("http", ""); status != http.StatusOK || !strings.Contains(body, "\nkinship_usages ") {
		t.Errorf("answered with %d: %.100s", status, body)
	}
}
