package command

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// KubeFlags holds the flags of kubectl that choose a cluster, a user and a namespace, such as --kubeconfig,
// --context and --namespace.
//
// The flags come from client-go. The package genericclioptions of cli-runtime has them too, but imports
// kustomize, which imports the package plugin. With plugin in a program, the linker keeps all
// methods of all types: the program was twice as large, and needed 25 MB more memory.
type KubeFlags struct {
	rules *clientcmd.ClientConfigLoadingRules
	// Overrides are the values of the flags.
	Overrides clientcmd.ConfigOverrides
	names     clientcmd.ConfigOverrideFlags
}

// NewKubeFlags returns the flags with the values of the environment.
func NewKubeFlags() *KubeFlags {
	k := &KubeFlags{
		rules:     clientcmd.NewDefaultClientConfigLoadingRules(),
		Overrides: clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults},
		names:     clientcmd.RecommendedConfigOverrideFlags(""),
	}
	k.rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	k.names.ClusterOverrideFlags.APIServer.ShortName = "s"
	// Kubernetes has no authentication with passwords since 1.19.
	k.names.AuthOverrideFlags.Username.LongName = ""
	k.names.AuthOverrideFlags.Password.LongName = ""
	return k
}

// WithoutNamespace leaves out --namespace.
func (k *KubeFlags) WithoutNamespace() {
	k.names.ContextOverrideFlags.Namespace.LongName = ""
}

// AddTo adds the flags to the flags of a command.
func (k *KubeFlags) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&k.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "",
		"Path to the kubeconfig file to use for CLI requests.")
	clientcmd.BindOverrideFlags(&k.Overrides, flags, k.names)
}

// Config returns the rest.Config that the flags, the kubeconfig and the environment give.
func (k *KubeFlags) Config() (*rest.Config, error) {
	config, err := k.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return config, nil
}

// Namespace returns the namespace that the flags, the kubeconfig and the environment give.
func (k *KubeFlags) Namespace() (string, error) {
	namespace, _, err := k.loader().Namespace()
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	return namespace, nil
}

func (k *KubeFlags) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(k.rules, &k.Overrides)
}
