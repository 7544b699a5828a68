package openstack

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// HostError says that a host is not called. Who writes a Secret names the address of
// its cloud, and the cloud those of its services: without a bound, both could have
// the operator call whatever it reaches.
type HostError struct {
	// Host that was to be called.
	Host string
	// Reason is why it is not.
	Reason string
}

// Error says which host, and why not.
func (e *HostError) Error() string { return fmt.Sprintf("host %s is not called: %s", e.Host, e.Reason) }

// allowed returns an error unless one of the patterns, as in path.Match, is that of
// the host. Without patterns every host may be called.
func allowed(patterns []string, host string) error {
	matches := func(pattern string) bool {
		ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(host))
		return ok && err == nil
	}
	if len(patterns) == 0 || slices.ContainsFunc(patterns, matches) {
		return nil
	}
	return &HostError{host, "it is not among those that the operator was given"}
}

// base returns what makes the connections. Link-local addresses are where machines get
// their own credentials from (169.254.169.254), and no cloud's API. That is found out
// here, where no name can hide it.
func base() *http.Transport {
	dialer := net.Dialer{
		Timeout: 30 * time.Second, KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err == nil && to.Addr().Unmap().IsLinkLocalUnicast() {
				err = &HostError{to.Addr().String(), "it is link-local"}
			}
			return err
		},
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = dialer.DialContext
	return transport
}

// bounded looks at each address before it is called, those of redirects too.
type bounded struct {
	to    http.RoundTripper
	hosts []string
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := allowed(b.hosts, request.URL.Hostname()); err != nil {
		return nil, err
	}
	return b.to.RoundTrip(request)
}

// Outside returns a client for addresses that people name beside that of a cloud,
// such as those of images. The same hosts may be called as by clouds.
func (c *Clouds) Outside() *http.Client {
	once := base()
	once.DisableKeepAlives = true // Nobody comes back soon.
	return &http.Client{Transport: bounded{once, c.options.Hosts}}
}
