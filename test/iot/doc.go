// Package iot tests the pack iot: every statement of seed 2 that is about it, as a
// test named after the statement.
package iot
