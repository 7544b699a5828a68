package localcluster

import "fmt"

// The programs of a control plane, by which [Cluster.PID] and its like know them.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// component is one program as data: nothing here runs, so a test can read what
// would.
type component struct {
	// name is the program's file name in the directory of binaries.
	name string
	args []string
	// readyURL answers 200 once the program does its work.
	readyURL string
	// restarts is how often the program is started again after a crash. A program that
	// keeps its state in the API server may crash without harm to a user's objects.
	restarts int
}

// plan is what the functions that build components know.
type plan struct {
	dir   layout
	ports ports
}

// layers lists the components so that each needs only those before it. Etcd and
// the API server share one: the API server waits for etcd by itself, and
// loading it takes longer than etcd takes to start.
func (p plan) layers(opts Options) [][]component {
	workers := []component{p.controllerManager()}
	if !opts.WithoutPods {
		workers = append(workers, p.scheduler(), p.kwok())
	}
	layers := [][]component{{p.etcd()}, {p.apiServer()}, workers}
	for _, layer := range layers {
		for i := range layer {
			layer[i].args = append(layer[i].args, opts.ExtraArgs[layer[i].name]...)
		}
	}
	return layers
}

func loopback(scheme string, port int, path string) string {
	return fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, port, path)
}
