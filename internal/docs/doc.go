// Package docs reads the Markdown pages of the documentation. [CheckLinks] finds broken links,
// [Block.Commands] returns the commands of a page for tests (package pagetest), and [WriteSite]
// writes all pages as a web site (`make docs`).
//
// # Commands on a page
//
// A block of the language sh is a script, which must succeed. A block of the language console shows
// the text of a terminal: each line that begins with "$ " is a command, and the lines below the
// command are its output.
//
//	```console
//	$ kubectl delete configmap settings
//	Error from server (Conflict): ...
//	```
//
// A test runs both kinds of blocks, unless the opening line of the block gives a reason in not-run
// (Block.NotRun):
//
//	```sh not-run="needs a real cloud"
//
// GitHub shows only the first word of the opening line.
package docs
