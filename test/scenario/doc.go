// Package scenario tests the commands of kinship with testscript: each .txtar file is
// a script with its input files, run against one control plane. No operator runs: the
// script applies the objects and status that an operator would have written.
//
// Besides the commands of testscript there are
//
//	kinship ARGS...   runs kinship in this process; an age is printed as AGE, a UID as UID
//	code N            checks the exit code of the last kinship
//	apply FILE        applies objects and their status; $UID_name is the UID of an
//	                  object applied before
//	delete KIND NAME [POLICY]
//	                  deletes without waiting; with !, repeats a dry run of the deletion
//	                  until the API server refuses
//	release NAME      deletes a Secret despite its finalizers
//	until TEXT ARGS   runs kinship ARGS until the output contains TEXT
//
// To update the expected output: go test ./test/scenario -update.
package scenario
