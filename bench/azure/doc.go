// Azure measures the azure pack with the emulated Azure. Each part has a control plane and an operator
// of bin/kinship of its own.
//
//	go run ./bench/azure                                  # all parts, about ten minutes
//	go run ./bench/azure --parts tree,group               # two minutes
//	go run ./bench/azure --parts tree --resources 60
//
// Parts:
//
//   - tree: a tree of depth 4 is applied at once, the used after their users. The makespan lasts from the
//     first creation until everything is Ready. The critical path is the median of three chains of the
//     depth of the tree, each alone. The emulator asks for pauses between polls as Azure does, unless
//     --eager is set;
//   - group: a resource group with many dependents is deleted. The time lasts from the end of the group in
//     the cloud until the last object is gone in Kubernetes;
//   - memory: the resident memory of the operator with the default kinds of four providers and with
//     objects, and the requests to the API server and to the cloud in a time without changes;
//   - enable: a kind is enabled while the operator runs. Our time is the time of azure.Enable without the
//     wait for the API server, and the time from the condition Established until the finalizer of the operator
//     is on an object that exists already;
//   - sizes: the size of definitions, and the memory of the API server with 10, 86 and 500 kinds.
package main
