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
			// Tests wait for the garbage collector and the namespace controller. The default of 20
			// requests per second would slow each test down.
			"--kube-api-qps=1000",
			"--kube-api-burst=2000",
			"--concurrent-gc-syncs=50",
			"--concurrent-deployment-syncs=20",
			"--concurrent-replicaset-syncs=20",
			"--concurrent-namespace-syncs=50",
			"--concurrent-service-endpoint-syncs=20",
			"--concurrent-serviceaccount-token-syncs=20",
			// kwok reports the status of the Node about every 5 minutes and renews no Lease. In
			// between, kube-controller-manager must not set the Node's condition Ready to Unknown,
			// and its Pods to not ready.
			"--node-monitor-grace-period=24h",
			"--profiling=false",
		},
		readyURL: loopback("https", p.ports.controllerManager, "/healthz"),
	}
}
