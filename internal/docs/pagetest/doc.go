// Package pagetest runs the commands of a page of documentation in a shell, and compares their output with
// the page.
package pagetest
