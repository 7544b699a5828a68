package localcluster

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
)

// Options of [Start]. With the zero value, Start runs all programs in a temporary directory, which
// [Cluster.Stop] removes.
type Options struct {
	// BinDir holds the programs. If BinDir is empty, Start looks in $KUBEBUILDER_ASSETS, in the
	// directory k8s beside the running program, and in bin/k8s of the working directory and of
	// each directory above.
	BinDir string
	// DataDir holds etcd's data, certificates, logs and the kubeconfig. A later Start with the
	// same directory finds the same objects. If DataDir is empty, Start creates a temporary
	// directory and Stop removes the directory.
	DataDir string
	// Port of the API server. Zero means a free port.
	Port int
	// WithoutPods leaves out the scheduler and kwok: pods stay Pending, Deployments
	// never become Available, and the start is a second faster.
	WithoutPods bool
	// BeforeControllers is called when the API server serves, before the controller manager
	// starts. Create CustomResourceDefinitions there: the garbage collector learns of later
	// definitions only when it reads discovery again, every 30 seconds.
	BeforeControllers func(ctx context.Context, config *rest.Config) error
	// ExtraArgs are added to a program's arguments, by the program's name. They come last, so
	// they override.
	ExtraArgs map[string][]string
	// StartTimeout bounds the whole of Start. Zero means 60 seconds.
	StartTimeout time.Duration
}

func (o Options) startTimeout() time.Duration {
	if o.StartTimeout > 0 {
		return o.StartTimeout
	}
	return time.Minute
}
