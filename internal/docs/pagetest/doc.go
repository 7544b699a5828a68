// Package pagetest runs the commands of a documentation page in bash, and compares the output of
// each command with docs.Command.Output.
package pagetest
