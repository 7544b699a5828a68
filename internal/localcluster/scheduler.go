package localcluster

import "strconv"

func (p plan) scheduler() component {
	return component{
		name: Scheduler,
		args: []string{
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(p.ports.scheduler),
			"--kubeconfig=" + p.dir.kubeconfigOf(Scheduler),
			"--tls-cert-file=" + p.dir.cert(serving),
			"--tls-private-key-file=" + p.dir.key(serving),
			"--leader-elect=false",
			"--kube-api-qps=1000",
			"--kube-api-burst=2000",
			"--profiling=false",
		},
		readyURL: loopback("https", p.ports.scheduler, "/healthz"),
	}
}
