package freeport_test

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/kinship-dev/kinship/internal/freeport"
)

// TestFind listens on the found port.
func TestFind(t *testing.T) {
	port, err := freeport.Find("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if port < 10240 || port >= 32768 {
		t.Errorf("port %d is of the range that the kernel gives away", port)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := freeport.Check("127.0.0.1", port); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port in use: %v", err)
	}
}

// TestNoSuchHost ends at once: no port of this host can be used.
func TestNoSuchHost(t *testing.T) {
	if _, err := freeport.Find("192.0.2.1"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("error %v, want that the address is not of this machine", err)
	}
}
