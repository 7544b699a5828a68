// Package localcluster starts and stops the processes of a Kubernetes control
// plane on this machine: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kwok, which plays the kubelets. It is what `kinship up`
// and every test stand on.
//
//	cluster, err := localcluster.Start(ctx, localcluster.Options{})
//	if err != nil {
//		return err
//	}
//	defer cluster.Stop()
//	c, err := client.New(cluster.Config(), client.Options{})
//
// A bare API server, as envtest runs it, is not enough here: ownership and
// deletion are our subject, and both happen in the controller manager.
//
// # Rooms
//
// A [component] is data: a program's name, its arguments and the address that
// answers when it is ready. One function per program builds it, each in a file
// of that program's name, so what a program is told is on one screen. One
// [process] runs any of them. [Cluster] holds the processes in layers: each
// layer needs those below it, is started after them and stopped before them.
//
// # Nothing stays behind
//
// Everything a control plane writes is in one directory. Every process holds
// the reading end of a pipe whose writing end only we hold, so that it ends when
// we do, even by SIGKILL. A directory that a killed program could not remove is
// removed by the next Start.
//
// Everything listens on the loopback interface, on free ports, and asks for a
// certificate of an authority made anew at each start, with the exception of
// kwok's health endpoint and etcd's unused peer port.
package localcluster
