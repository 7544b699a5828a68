// Package cli has the commands of kinship and of the plugin kubectl-kinship: one file
// for each command, and newRoot in root.go builds the tree of commands.
//
// Commands print results to IOStreams.Out and progress to IOStreams.ErrOut. The exit code
// is exitError.code, such as exitUsage (2), or 1 for any other error.
package cli
