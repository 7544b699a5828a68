// Package install installs the operator where somebody else has been before, where
// something is missing, and takes it away again: what is not ours is never
// touched, what is ours never stays.
package install
