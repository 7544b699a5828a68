// Package command has what the commands of `kinship` share: the flags of kubectl, and the exit codes.
package command
