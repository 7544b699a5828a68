package localcluster

import "fmt"

// The programs of a control plane, for [Cluster.PID], [Cluster.Pause] and [Cluster.Restart].
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// component is one program, such as kube-apiserver, as data: a test can read component.args without
// running the program.
type component struct {
	// name is the program's file name in [Cluster.BinDir], such as "etcd".
	name string
	args []string
	// readyURL answers 200 once the program does its work.
	readyURL string
	// restarts is how often Cluster.ended starts the program again after a crash. A program that
	// keeps its state in the API server, such as kwok, may crash without harm to a user's objects.
	restarts int
}

// plan has the settings from which apiServer, etcd and the other functions build a component.
type plan struct {
	dir   layout
	ports ports
}

// layers lists the components so that each needs only earlier layers. etcd and the API server
// share a layer: the API server waits for etcd by itself, and loads longer than etcd takes to
// start.
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
