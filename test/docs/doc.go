// Package docs runs the commands of pages of documentation against a control plane with an operator and
// both emulated clouds, as `kinship up` has them, and compares their output with the pages.
//
// To write the output into the pages: go test ./test/docs -update.
package docs
