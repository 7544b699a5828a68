// Package gauge measures for the programs in bench: [ReadCounts] reads the API server's request
// counters, [ReadProcess] reads CPU time and memory of a process, and [StartOperator] runs the
// operator as a process.
package gauge
