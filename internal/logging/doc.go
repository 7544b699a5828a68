// Package logging decides what stands in the operator's log, and at which level: a line above INFO asks a person to do
// something. Routine messages of libraries are written at a higher verbosity, a missing right is named once in ten
// minutes, and each event of a controller is one line.
package logging
