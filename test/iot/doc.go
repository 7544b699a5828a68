// Package iot tests the pack iot: each statement of seed 2 about the pack is a test
// with the name of the statement.
package iot
