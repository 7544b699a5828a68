// Package uninstall removes every trace of the operator: first the finalizers and labels on objects of users, then
// guards, then rights and CustomResourceDefinitions. The plan is read before the first change.
package uninstall
