package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Linux hands out ports from 32768 on, others from 49152 (RFC 6335, section 6).
// Below 10240 are the servers that people know by number.
const first, end = 10240, 32768

// attempts is how many ports Find tries.
const attempts = 100

// Find returns a port of the host without a listener. Two calls may return the same port, as
// unlikely as another program taking the port.
func Find(host string) (int, error) {
	var err error
	for range attempts {
		port := first + rand.IntN(end-first) // The number is no secret.
		if err = Check(host, port); err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return port, err
		}
	}
	return 0, err
}

// Check returns an error which is [syscall.EADDRINUSE] if the port of the host has a listener.
func Check(host string, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("try a port: %w", err)
	}
	return listener.Close()
}
