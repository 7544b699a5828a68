package localcluster

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
)

// Options say what to start and where. The zero value starts everything in a
// directory that Stop removes.
type Options struct {
	// BinDir holds the programs. When empty it is looked for in
	// $KUBEBUILDER_ASSETS, in the directory k8s beside the running program, and in
	// bin/k8s of the working directory and of each directory above it.
	BinDir string
	// DataDir keeps what the control plane writes: etcd's data, certificates, logs
	// and the kubeconfig. A later Start with the same directory finds the same
	// objects. When empty, a temporary directory is made and Stop removes it.
	DataDir string
	// Port is the API server's. When 0, a free one is taken.
	Port int
	// WithoutPods leaves out the scheduler and kwok: pods stay Pending, Deployments
	// never become Available, and the start is a second faster.
	WithoutPods bool
	// BeforeControllers is called when the API server serves and before the
	// controller manager starts. It is the place to create
	// CustomResourceDefinitions: the garbage collector learns of later ones only
	// when it next reads discovery, which it does every 30 seconds.
	BeforeControllers func(ctx context.Context, config *rest.Config) error
	// ExtraArgs are added to a program's arguments, by its name. They come last,
	// so they win.
	ExtraArgs map[string][]string
	// StartTimeout bounds the whole of Start. It is 60 seconds when 0.
	StartTimeout time.Duration
}

func (o Options) startTimeout() time.Duration {
	if o.StartTimeout > 0 {
		return o.StartTimeout
	}
	return time.Minute
}
