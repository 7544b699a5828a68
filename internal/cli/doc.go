// Package cli has the commands of kinship and of the plugin kubectl-kinship. newRoot in root.go builds the tree of
// commands. The commands about the operator are here, one file for each. Package answers has the commands about one
// object, and package clouds the commands about the kinds of one pack.
//
// Commands print results to IOStreams.Out and progress to IOStreams.ErrOut. The exit code is command.ExitError.Code,
// such as command.ExitUsage (2), or 1 for any other error.
package cli
