package openstack_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// labels are the labels of metrics with their allowed values, as docs/metrics.md describes: no
// value is chosen by an author of objects or by a server.
var labels = map[string]*regexp.Regexp{
	// Kinds of the definitions, and words for them in names.
	"group":      regexp.MustCompile(`^(|[a-z0-9-]+(\.[a-z0-9-]+)+|apps)$`),
	"kind":       regexp.MustCompile(`^[A-Z][A-Za-z]*$`),
	"controller": regexp.MustCompile(`^([a-z0-9.-]+/)?[a-z-]+$`),
	"name":       regexp.MustCompile(`^([a-z0-9.-]+/)?[a-z-]+$`),
	// Sets of words.
	"pack":     oneOf(append(options.PackNames(), "operator")...),
	"state":    oneOf("ready", "waiting", "failing", "stuck", "deleting"),
	"result":   oneOf("success", "error", "requeue", "requeue_after"),
	"method":   oneOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
	"priority": regexp.MustCompile(`^-?[0-9]{0,4}$`),
	"guard":    regexp.MustCompile(`^[A-Z][A-Za-z]+ (kinship-[a-z-]+|crossplane-no-usages)$`),
	"reason":   regexp.MustCompile(`^([A-Z][A-Za-z]+|none|other)$`),
	"provider": regexp.MustCompile(`^(microsoft\.[a-z]+|operation|other)$`),
	"webhook":  regexp.MustCompile(`^/(validate|mutate)-[a-z-]+/?$`),
	"service":  oneOf("network", "compute", "image", "identity", "volume", "share", "discovery", "other"),
	"resource": oneOf("", "other", "auth", "info", "networks", "subnets", "routers", "ports", "security-groups",
		"security-group-rules", "floatingips", "trunks", "address-scopes", "servers", "flavors", "os-keypairs",
		"os-server-groups", "images", "domains", "projects", "users", "groups", "roles", "role_assignments", "services",
		"endpoints", "volumes", "types", "share-networks"),
	"code": oneOf("other", "<error>", "0", "200", "201", "202", "204", "300", "400", "401", "403", "404", "409", "410",
		"413", "422", "429", "500", "502", "503", "504"),
	// The API server's address, and values that are known when the program is built.
	"host": nil, "version": nil, "quantile": nil,
}

func oneOf(words ...string) *regexp.Regexp {
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		quoted = append(quoted, regexp.QuoteMeta(word))
	}
	return regexp.MustCompile("^(" + strings.Join(quoted, "|") + ")$")
}

// TestLabels (row 11 of issue 15): whatever tenants name and clouds answer, the labels of all
// metrics have few values, and so a scrape has an end.
func TestLabels(t *testing.T) {
	const mine = "7f3a"
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-"+mine, mine)
		w.WriteHeader(400 + len(r.URL.Path)%200)
		fmt.Fprintf(w, `{"%s": {"code": 418, "message": "%s"}}`, mine, mine)
	}))
	t.Cleanup(hostile.Close)
	operator.Start(t)
	w := newWorld(t)
	const clouds = 5
	for i := range clouds {
		name := fmt.Sprintf("hostile-%s-%d", mine, i)
		text := fmt.Sprintf("clouds: {openstack-admin: {auth: {auth_url: '%s/%s%s/v3', username: u, password: p}, region_name: %s}}",
			hostile.URL, mine, strings.Repeat("x", i), name)
		w.create(w.secret(name, text))
		w.apply(strings.Replace(managed("Network", name, "{}"), "secretName: cloud,", "secretName: "+name+",", 1))
	}
	w.apply(managed("Network", "honest", "{}"))
	w.available("Network", "honest")
	testenv.Eventually(t, func() error {
		tried := operator.Metrics(t, "kinship_openstack_request_duration_seconds", "service", "resource")
		if tried["identity auth"] < clouds+1 {
			return fmt.Errorf("requests were %v", tried)
		}
		return nil
	})
	families := operator.Families(t)
	if len(families) < 20 {
		t.Errorf("%d metrics", len(families))
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			checkLabels(t, f.GetName(), m, hostile.URL)
		}
	}
}

func checkLabels(t *testing.T, family string, m *dto.Metric, foreign string) {
	t.Helper()
	address := strings.TrimPrefix(foreign, "http://")
	for _, label := range m.GetLabel() {
		value := label.GetValue()
		pattern, known := labels[label.GetName()]
		switch {
		case !known:
			t.Errorf("%s has a label %s, of which nothing is known: %q", family, label.GetName(), value)
		case pattern != nil && !pattern.MatchString(value),
			slices.ContainsFunc([]string{"7f3a", address}, func(s string) bool { return strings.Contains(value, s) }):
			t.Errorf("%s: label %s is %q", family, label.GetName(), value)
		}
	}
}
