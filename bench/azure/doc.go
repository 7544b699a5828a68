// Azure measures the pack azure with the emulated Azure of the package emulator. Each part has a
// control plane and an operator process of bin/kinship of its own.
//
//	go run ./bench/azure                                  # all parts, about ten minutes
//	go run ./bench/azure --parts tree,group               # two minutes
//	go run ./bench/azure --parts tree --resources 60
//
// Parts:
//
//   - tree: measureTree creates a tree of depth 4, dependents first. The makespan lasts from
//     the first Create until every object is Ready. The critical path is the median of three chains
//     of the depth of the tree, each built alone. A chain has all subnets of a network, because Azure
//     creates one subnet of a network at a time. The emulator requests pauses between polls by
//     Retry-After as Azure does, unless --eager is set;
//   - group: measureGroup deletes a ResourceGroup with many dependents. The time lasts from the
//     end of the group in the cloud until the API server has deleted the last object;
//   - memory: measureMemory reports the RSS of the operator with the kinds of four providers
//     (committed), without and with objects, and the requests to the API server and to the
//     cloud during --idle;
//   - enable: measureEnable enables a kind while the operator runs. The reported time is the
//     time of azure.Enable without the wait for the API server, plus the time from the
//     condition Established until the operator's finalizer is on an object that exists already;
//   - sizes: measureSizes reports the size of CustomResourceDefinitions, and the memory of the
//     API server with 10, 86 and 500 kinds.
//
// With --max-makespan, --max-calls and --max-memory, the program prints all figures, and fails if a
// figure is above its limit.
package main
