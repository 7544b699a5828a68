// Oam measures an implementation of core.oam.dev: ApplicationConfigurations of a
// ContainerizedWorkload with a ManualScalerTrait. By default oam starts a control plane and the
// operator of bin/kinship. With --kubeconfig, oam creates the same objects in that cluster, and
// measures the implementation there.
//
//	go run ./bench/oam                               # 200 applications, three minutes
//	go run ./bench/oam --kubeconfig FILE --operator-pid PID
//
// Figures:
//
//   - cold: from the first Create until every Deployment has the replicas of its
//     ManualScalerTrait, with all requests of other clients about the `counted` resources;
//   - idle: requests about the same resources during --idle;
//   - deleted, edited: from before the deletion of a Deployment or a ManualScalerTrait, or the
//     change of spec.replicas or spec.replicaCount, until the operator has restored the object;
//   - scope: from the first Patch of 20 ApplicationConfigurations that join one HealthScope
//     until the status of the HealthScope has all their workloads;
//   - memory of the operator: RSS and peak.
package main
