// Package install applies the CustomResourceDefinitions, rights and guards that an operator needs ([Install]), and
// writes the same objects as manifests ([Manifests]).
//
// An installation checks everything before the first write: the rights of the installer by dry run, objects of others
// with the same names, a newer release, and another running operator that would lose its webhooks. Objects that another
// installation with other options has left are removed.
package install
