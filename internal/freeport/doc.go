// Package freeport finds TCP ports for servers that other programs must be told of
// before they listen.
//
// Asking the kernel for a port and releasing it gives one of the range from which
// the kernel serves everybody else, outgoing connections too: a moment later it may
// be gone. The ports found here are of another range, where only who asks for a
// number gets it.
package freeport
