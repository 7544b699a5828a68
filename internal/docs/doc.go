// Package docs reads the pages of documentation, which are Markdown. It finds broken links, returns the
// commands of a page for tests that run them (package pagetest), and writes all pages as a web site
// (`make docs`).
//
// # Commands on a page
//
// A block of the language sh is one script, which must succeed. A block of the language console is what
// a terminal shows: each line that begins with "$ " is a command, and the lines below are its output.
//
//	```console
//	$ kubectl delete configmap settings
//	Error from server (Conflict): ...
//	```
//
// Both are run by a test, unless the line that opens the block gives a reason not to:
//
//	```sh not-run="needs a real cloud"
//
// A block of another language, or of none, must not have commands ([Block.IsUntagged]).
//
// GitHub shows only the first word of this line.
package docs
