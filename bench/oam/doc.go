// Oam measures an implementation of core.oam.dev: applications of a ContainerizedWorkload with a
// ManualScalerTrait. By default oam starts a control plane and the operator of bin/kinship. With a
// kubeconfig oam measures the implementation that runs in that cluster, by the same objects.
//
//	go run ./bench/oam                               # 200 applications, three minutes
//	go run ./bench/oam --kubeconfig FILE --operator-pid PID
//
// Figures:
//
//   - cold: from the first creation until every Deployment has the replicas of its trait, with all
//     requests of other clients than the program that concern the kinds of an application;
//   - idle: requests of that kind in a time without changes;
//   - deleted, edited: from before the deletion of a Deployment or a trait, or the change of
//     spec.replicas or spec.replicaCount, until the object is as before;
//   - scope: from the first change of twenty applications that join one HealthScope until the status of
//     the scope has all of them;
//   - memory of the operator, resident and at most.
package main
