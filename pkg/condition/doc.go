// Package condition turns outcomes into conditions, in exactly one function per
// vocabulary, so that no controller words its own.
//
// The Ready vocabulary is that of kstatus: Ready is True when done, Unknown never
// appears, observedGeneration is always set, and a condition's transition time
// moves only with its status.
package condition
