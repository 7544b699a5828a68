// Package freeport finds TCP ports for servers that other programs must be told of
// before they listen.
//
// A port that the kernel chose (net.Listen on port 0) and that was closed again may be taken a moment
// later: the kernel gives ports of the same range (net.ipv4.ip_local_port_range) to outgoing
// connections. Package freeport returns ports outside of that range.
package freeport
