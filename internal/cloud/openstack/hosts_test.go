package openstack_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// TestMain sets a proxy in the environment, which must never be called. Loopback addresses
// never use a proxy, and net/http reads the environment once.
func TestMain(m *testing.M) {
	if err := os.Setenv("HTTP_PROXY", "http://127.0.0.1:1"); err != nil {
		panic(err)
	}
	m.Run()
}

// TestHosts: the author of a Secret does not choose which hosts the operator calls.
func TestHosts(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	port := server.URL()[strings.LastIndex(server.URL(), ":"):]
	services := []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")}
	everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	pods := func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("10.244.7.0/24")} }
	type with = openstack.Options
	cases := map[string]struct {
		options openstack.Options
		host    string
		refused bool
	}{
		"by default":                   {with{}, "127.0.0.1", true},
		"another of the machine":       {with{}, "127.1.2.3", true},
		"by name":                      {with{}, "localhost", true},
		"by no address":                {with{}, "0.0.0.0", true},
		"by no IPv6 address":           {with{}, "[::]", true},
		"hidden in IPv6":               {with{}, "[::ffff:127.0.0.1]", true},
		"hidden by NAT64":              {with{}, "[64:ff9b::127.0.0.1]", true},
		"hidden by a NAT64 of its own": {with{}, "[64:ff9b:1:7f00:0:100::]", true},
		"hidden by 6to4":               {with{}, "[2002:7f00:1::1]", true},
		"a host is no address":         {with{Hosts: []string{"localhost", "127.0.0.1", "*"}}, "127.0.0.1", true},
		"multicast":                    {with{}, "224.0.0.1", true},
		"link-local":                   {with{}, "169.254.1.1", true},
		"link-local IPv6":              {with{}, "[fe80::1%25lo]", true},
		"open":                         {with{Open: openstack.Loopback}, "127.0.0.1", false},
		"open by name":                 {with{Open: openstack.Loopback}, "localhost", false},
		"closed and open":              {with{Open: here, Closed: openstack.Loopback}, "127.0.0.1", false},
		"closed":                       {with{Closed: services}, "10.96.0.1", true},
		"a Pod":                        {with{Pods: pods}, "10.244.7.9", true},
		"a Pod hidden by NAT64":        {with{Pods: pods}, "[64:ff9b::10.244.7.9]", true},
		"the one host":                 {with{Open: everything, Hosts: []string{"other", "127.0.0.1"}}, "127.0.0.1", false},
		"a pattern":                    {with{Open: everything, Hosts: []string{"LOCAL*"}}, "localhost", false},
		"another host":                 {with{Open: everything, Hosts: []string{"*.cloud.example"}}, "127.0.0.1", true},
		"the machine's credentials":    {with{Open: everything}, "169.254.169.254", true},
		"these hidden in IPv6":         {with{Open: everything}, "[::ffff:169.254.169.254]", true},
		"those of AWS, by IPv6":        {with{Open: everything}, "[fd00:ec2::254]", true},
		"those of Google, by IPv6":     {with{Open: everything}, "[fd20:ce::254]", true},
		"those of Alibaba":             {with{Open: everything}, "100.100.100.200", true},
		"those of Azure":               {with{Open: everything}, "168.63.129.16", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clouds := openstack.New(c.options)
			text := strings.ReplaceAll(server.CloudsYAML(), server.URL(), "http://"+c.host+port)
			_, err := clouds.Scope(t.Context(), parse(t, text))
			_, refused := errors.AsType[*openstack.HostError](err)
			if refused != c.refused || (!refused && err != nil) {
				t.Fatalf("error is %v", err)
			}
			if refused && openstack.Classify(err).Class != openstack.Invalid {
				t.Errorf("it is tried again: %v", err)
			}
			if err := download(t, clouds, "http://"+c.host+port); (err != nil) != c.refused {
				t.Errorf("for an image: %v", err)
			}
		})
	}
}

// download asks for an address that people name beside a cloud's.
func download(t *testing.T, clouds *openstack.Clouds, address string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := clouds.Outside().Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// TestHostsOfTheCatalog: neither does the cloud.
func TestHostsOfTheCatalog(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback, Hosts: []string{"localhost"}})
	text := strings.ReplaceAll(server.CloudsYAML(), "127.0.0.1", "localhost") // Its catalog says 127.0.0.1.
	err := create(t.Context(), login(t, clouds, parse(t, text)))
	if _, refused := errors.AsType[*openstack.HostError](err); !refused {
		t.Errorf("error is %v", err)
	}
}

// TestRedirect: a redirect of a cloud is not followed, and the answer of its target is not
// quoted.
func TestRedirect(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	var called atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called.Add(1)
		http.Error(w, secret, http.StatusTeapot)
	}))
	t.Cleanup(inside.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		cloud := httptest.NewServer(http.RedirectHandler(inside.URL, status))
		t.Cleanup(cloud.Close)
		text := "clouds: {openstack: {auth: {auth_url: '" + cloud.URL + "/v3', username: u, password: p}}}"
		_, err := openstack.New(openstack.Options{Open: openstack.Loopback}).Scope(t.Context(), parse(t, text))
		if got := openstack.Classify(err); got.Status != status || strings.Contains(got.Message, secret) {
			t.Errorf("%d: %+v", status, got)
		}
	}
	if n := called.Load(); n > 0 {
		t.Errorf("somebody else was called %d times", n)
	}
}

// TestNoHTTP: the answer of a server that speaks no HTTP is not quoted.
func TestNoHTTP(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Write([]byte("SSH-2.0-s3cret\r\n")) // The test tells.
			_ = connection.Close()
		}
	}()
	text := "clouds: {openstack: {auth: {auth_url: 'http://" + listener.Addr().String() +
		"/v3', username: u, password: p}}}"
	_, err = openstack.New(openstack.Options{Open: openstack.Loopback}).Scope(t.Context(), parse(t, text))
	if got := openstack.Classify(err); err == nil || strings.Contains(got.Message, "s3cret") {
		t.Errorf("it says %v", got.Message)
	}
}

// TestOutside: the target of a redirect by another address than the cloud's is checked like
// that address, for a few redirects.
func TestOutside(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
		if n, err := strconv.Atoi(strings.Trim(r.URL.Path, "/")); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	const ours = "127.0.0.1"
	first := []netip.Prefix{netip.MustParsePrefix(ours + "/32")}
	to := func(address string) string { return "/?to=" + url.QueryEscape(address) }
	elsewhere := func(host string) string { return strings.Replace(server.URL, ours, host, 1) }
	cases := map[string]struct {
		hosts   []string
		open    []netip.Prefix
		path    string
		refused string
		fails   bool
	}{
		"all hosts":                 {nil, openstack.Loopback, to(server.URL), "", false},
		"our own machine":           {nil, nil, "", ours, false},
		"another of our own":        {nil, first, to(elsewhere("127.0.0.2")), "127.0.0.2", false},
		"to another host":           {[]string{ours}, openstack.Loopback, to(elsewhere("localhost")), "localhost", false},
		"the machine's credentials": {nil, openstack.Loopback, to("http://169.254.169.254/latest"), "169.254.169.254", false},
		"five times":                {nil, openstack.Loopback, "/5", "", false},
		"for ever":                  {nil, openstack.Loopback, "/6", "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := download(t, openstack.New(openstack.Options{Hosts: c.hosts, Open: c.open}), server.URL+c.path)
			var refused string
			if host, ok := errors.AsType[*openstack.HostError](err); ok {
				refused, err = host.Host, nil
			}
			if refused != c.refused || (err != nil) != c.fails {
				t.Errorf("refused host %q, want %q; error %v", refused, c.refused, err)
			}
		})
	}
}
