// Package condition turns a reconcile.Outcome into conditions. Each vocabulary has exactly one
// function: [Of] for Ready, [External.Set] for Available and Progressing.
//
// Ready follows kstatus: Ready is True if the outcome is done (Outcome.IsDone), and never Unknown.
// observedGeneration is always set, and lastTransitionTime changes only with the status of the
// condition.
package condition
