package localcluster

func (p plan) etcd() component {
	client := loopback("https", p.ports.etcd, "")
	return component{
		name: Etcd,
		args: []string{
			"--name=default",
			"--data-dir=" + p.dir.etcdData(),
			// Without fsync, etcd starts in half the time. The data survives a SIGKILL of etcd, but
			// not a crash of the machine.
			"--unsafe-no-fsync",
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=http://127.0.0.1:0", // etcd insists on a peer port; no peer connects.
			"--client-cert-auth",
			"--trusted-ca-file=" + p.dir.caCert(),
			"--cert-file=" + p.dir.cert(serving),
			"--key-file=" + p.dir.key(serving),
			"--quota-backend-bytes=4294967296", // Scale tests exceed etcd's default of 2 GiB.
			"--auto-compaction-mode=periodic",
			"--auto-compaction-retention=10m",
			"--log-level=warn",
		},
		readyURL: client + "/health",
	}
}
