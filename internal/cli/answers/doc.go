// Package answers has the commands of the kubectl plugin that answer questions about one object: tree, who-uses, why
// and withdraw. Each command makes a question from its arguments, asks pkg/lineage, and prints the answer before the
// parts of the cluster that could not be seen.
package answers
