package openstack_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// TestMain has the environment name a proxy, which nobody is to ask. Loopback addresses
// never are asked for through one, and net/http reads the environment once.
func TestMain(m *testing.M) {
	if err := os.Setenv("HTTP_PROXY", "http://127.0.0.1:1"); err != nil {
		panic(err)
	}
	m.Run()
}

// TestHosts: who writes the Secret does not choose what the operator calls.
func TestHosts(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	port := server.URL()[strings.LastIndex(server.URL(), ":"):]
	cases := map[string]struct {
		hosts   []string
		host    string
		refused bool
	}{
		"any":                       {nil, "127.0.0.1", false},
		"the one":                   {[]string{"cloud.example", "127.0.0.1"}, "127.0.0.1", false},
		"a pattern":                 {[]string{"LOCAL*"}, "localhost", false},
		"another":                   {[]string{"*.cloud.example"}, "127.0.0.1", true},
		"the machine's credentials": {nil, "169.254.169.254", true},
		"hidden in IPv6":            {nil, "[::ffff:169.254.169.254]", true},
		"link-local IPv6":           {nil, "[fe80::1%25lo]", true},
		"those of AWS, by IPv6":     {nil, "[fd00:ec2::254]", true},
		"those of Google, by IPv6":  {nil, "[fd20:ce::254]", true},
		"those of Alibaba":          {nil, "100.100.100.200", true},
		"those of Azure":            {[]string{"*"}, "168.63.129.16", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clouds := openstack.New(openstack.Options{Hosts: c.hosts})
			text := strings.ReplaceAll(server.CloudsYAML(), server.URL(), "http://"+c.host+port)
			_, err := clouds.Scope(t.Context(), parse(t, text))
			_, refused := errors.AsType[*openstack.HostError](err)
			if refused != c.refused || (!refused && err != nil) {
				t.Fatalf("error is %v", err)
			}
			if refused && openstack.Classify(err).Class != openstack.Invalid {
				t.Errorf("it is tried again: %v", err)
			}
		})
	}
}

// TestHostsOfTheCatalog: neither does the cloud.
func TestHostsOfTheCatalog(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds := openstack.New(openstack.Options{Hosts: []string{"localhost"}})
	text := strings.ReplaceAll(server.CloudsYAML(), "127.0.0.1", "localhost") // Its catalog says 127.0.0.1.
	err := create(t.Context(), login(t, clouds, parse(t, text)))
	if _, refused := errors.AsType[*openstack.HostError](err); !refused {
		t.Errorf("error is %v", err)
	}
}

// TestOutside: an address beside the cloud's, and what it redirects to, is bounded as
// the clouds' are.
func TestOutside(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	ours := server.Listener.Addr().(*net.TCPAddr).IP.String()
	cases := map[string]struct {
		hosts   []string
		to      string
		refused string
	}{
		"all hosts":                 {[]string{"*"}, server.URL, ""},
		"our own machine":           {nil, server.URL, ours},
		"no host of theirs":         {[]string{"other.example"}, server.URL, ours},
		"to one of the hosts":       {[]string{ours}, server.URL, ""},
		"to another host":           {[]string{ours}, strings.Replace(server.URL, ours, "localhost", 1), "localhost"},
		"the machine's credentials": {[]string{"*"}, "http://169.254.169.254/latest", "169.254.169.254"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := server.URL + "/?to=" + url.QueryEscape(c.to)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := openstack.New(openstack.Options{Hosts: c.hosts}).Outside().Do(request)
			if err == nil {
				err = response.Body.Close()
			}
			var refused string
			if host, ok := errors.AsType[*openstack.HostError](err); ok {
				refused, err = host.Host, nil
			}
			if refused != c.refused || err != nil {
				t.Errorf("refused host %q, want %q; error %v", refused, c.refused, err)
			}
		})
	}
}

// TestOutsideOwnMachine: no spelling leads to what listens beside the operator, and no
// pattern but one for that.
func TestOutsideOwnMachine(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	cases := map[string]struct {
		hosts   []string
		host    string
		refused bool
	}{
		"by its address":      {nil, "127.0.0.1", true},
		"by another":          {nil, "127.1.2.3", true},
		"by no address":       {nil, "0.0.0.0", true},
		"by no IPv6 address":  {nil, "[::]", true},
		"hidden in IPv6":      {nil, "[::ffff:127.0.0.1]", true},
		"by name":             {nil, "localhost", true},
		"allowed by name":     {[]string{"localhost"}, "localhost", false},
		"allowed by address":  {[]string{"127.0.0.*"}, "127.0.0.1", false},
		"allowed as another":  {[]string{"0.0.0.0"}, "127.0.0.1", true},
		"allowed with others": {[]string{"*"}, "127.0.0.1", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.host+port, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := openstack.New(openstack.Options{Hosts: c.hosts}).Outside().Do(request)
			if err == nil {
				err = response.Body.Close()
			}
			_, refused := errors.AsType[*openstack.HostError](err)
			if refused != c.refused || !refused && err != nil {
				t.Errorf("error is %v, want it refused: %t", err, c.refused)
			}
		})
	}
}
