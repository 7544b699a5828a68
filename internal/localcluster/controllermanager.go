package localcluster

import "strconv"

func (p plan) controllerManager() component {
	return component{
		name: ControllerManager,
		args: []string{
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(p.ports.controllerManager),
			"--kubeconfig=" + p.dir.kubeconfigOf(ControllerManager),
			"--tls-cert-file=" + p.dir.cert(serving),
			"--tls-private-key-file=" + p.dir.key(serving),
			"--root-ca-file=" + p.dir.caCert(),
			"--service-account-private-key-file=" + p.dir.serviceAccountKey(),
			"--use-service-account-credentials=true",
			"--leader-elect=false",
			// Deletion is our subject: the rate of these controllers is the rate of the tests.
			"--kube-api-qps=1000",
			"--kube-api-burst=2000",
			"--concurrent-gc-syncs=50",
			"--concurrent-deployment-syncs=20",
			"--concurrent-replicaset-syncs=20",
			"--concurrent-namespace-syncs=50",
			"--concurrent-service-endpoint-syncs=20",
			"--concurrent-serviceaccount-token-syncs=20",
			// kwok reports the Node about every five minutes and renews no lease. In between,
			// the controller manager must not take the Node for lost, and its Pods for not
			// ready.
			"--node-monitor-grace-period=24h",
			"--profiling=false",
		},
		readyURL: loopback("https", p.ports.controllerManager, "/healthz"),
	}
}
