// Package app assembles the operator from all packs, and fixes the order in which parts start.
//
// [Run] runs the operator. [Install] applies the CustomResourceDefinitions, rights and guards that
// the operator needs, and [Uninstall] removes every trace of the operator. [Run], [Install] and
// [Uninstall] work inside a cluster and outside.
package app
