package localcluster

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName is the name of cluster, user and context in the kubeconfig.
const contextName = "kinship"

// writeKubeconfigs writes one file per user. Each file is complete, so that the file can be
// copied elsewhere, and readable by its owner only.
func writeKubeconfigs(p plan) error {
	for _, user := range []string{admin, ControllerManager, Scheduler} {
		if err := writeKubeconfig(p, user); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
		}
	}
	return nil
}

func writeKubeconfig(p plan, user string) error {
	files := [][]byte{}
	for _, path := range []string{p.dir.caCert(), p.dir.cert(user), p.dir.key(user)} {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, content)
	}
	config := clientcmdapi.NewConfig()
	config.CurrentContext = contextName
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: user}
	config.Clusters[contextName] = &clientcmdapi.Cluster{
		Server:                   loopback("https", p.ports.apiServer, ""),
		CertificateAuthorityData: files[0],
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: files[1], ClientKeyData: files[2]}
	return clientcmd.WriteToFile(*config, p.dir.kubeconfigOf(user))
}

// adminConfig reads the admin's file, without a rate limit: only the operator under test should
// be limited.
func adminConfig(dir layout) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", dir.kubeconfigOf(admin))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
