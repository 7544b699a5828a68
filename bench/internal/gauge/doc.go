// Package gauge measures for the load generators: requests by the API server's own counters,
// CPU time and memory of a process, and the operator as a process.
package gauge
