// Package gauge is what the load generators measure with, and what they measure:
// requests as the API server counts them, CPU time and memory of a process, and the
// operator as such a process.
package gauge
