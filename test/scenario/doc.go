// Package scenario holds stories that read like a terminal: each .txtar file here
// is a script and the files it needs, run against one control plane. No operator
// runs; where one would have acted, the story says what it would have written.
//
// Besides the commands of testscript there are
//
//	kinship ARGS...   the program, in this process; ages read as AGE and uids as UID
//	code N            the exit code of the last kinship
//	apply FILE        applies objects and their status; $UID_name is the uid of an
//	                  object applied before
//	delete KIND NAME [POLICY]
//	                  deletes and does not wait; with ! it tries, without effect,
//	                  until that is refused
//	release NAME      deletes a Secret whatever finalizers are on it
//	until TEXT ARGS   runs kinship ARGS until its output has TEXT
//
// To write the expected output anew: go test ./test/scenario -update.
package scenario
