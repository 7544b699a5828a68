package localcluster

import "strconv"

func (p plan) apiServer() component {
	return component{
		name: APIServer,
		args: []string{
			"--bind-address=127.0.0.1",
			"--advertise-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(p.ports.apiServer),
			// The API server does not accept loopback addresses in Endpoints, so the Endpoints
			// of this API server are left out.
			"--endpoint-reconciler-type=none",
			"--etcd-servers=" + loopback("https", p.ports.etcd, ""),
			"--etcd-cafile=" + p.dir.caCert(),
			"--etcd-certfile=" + p.dir.cert(admin),
			"--etcd-keyfile=" + p.dir.key(admin),
			"--client-ca-file=" + p.dir.caCert(),
			"--tls-cert-file=" + p.dir.cert(serving),
			"--tls-private-key-file=" + p.dir.key(serving),
			"--cert-dir=" + p.dir.pki(),
			"--authorization-mode=Node,RBAC",
			"--allow-privileged=true",
			"--service-cluster-ip-range=10.96.0.0/16",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + p.dir.serviceAccountPublicKey(),
			"--service-account-signing-key-file=" + p.dir.serviceAccountKey(),
			// Tests send bursts. Answers of 429 would hide the figures that tests measure.
			"--max-requests-inflight=4000",
			"--max-mutating-requests-inflight=2000",
			"--profiling=false",
		},
		readyURL: loopback("https", p.ports.apiServer, "/readyz"),
	}
}
