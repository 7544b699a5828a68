// Package scenario tests the commands of kinship with testscript: each .txtar file is
// a script with its input files, run against one control plane. The stories in this folder
// have no operator: the script applies the objects and status that an operator would have
// written. Those in the folders openstack and tenant have one.
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
//	until TEXT ARGS   runs kinship ARGS until the output contains TEXT; with !, lacks TEXT;
//	                  kubectl ARGS and post ARGS are run as these commands
//	kubectl ARGS...   runs kubectl as user kinship-admin, who has all rights
//	post URL FILE     sends a JSON text to the URL in the file URL, as somebody on the network
//	                  can, and prints the status and the answer; $NAME is a variable
//
// To update the expected output: go test ./test/scenario -update.
package scenario
