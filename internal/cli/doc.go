// Package cli has the commands of kinship, which is also the kubectl plugin: one
// file for each command, all built by newRoot.
//
// Commands print results to standard output and progress to standard error. An
// error that carries an exit code (exitError) decides that; any other is 1.
package cli
