package localcluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeName is the name of the only Node.
const nodeName = "kinship-node"

// kwok v0.8.0 is started again after a crash: two of its workers that begin at the same moment
// may use a half initialised stage, and end kwok by a nil pointer.
func (p plan) kwok() component {
	return component{
		name:     Kwok,
		restarts: 3,
		args: []string{
			"--kubeconfig=" + p.dir.kubeconfigOf(admin),
			"--config=" + p.dir.stages(),
			"--manage-all-nodes=true",
			"--node-ip=127.0.0.1",
			"--cidr=10.244.0.0/16",
			"--server-address=127.0.0.1:" + strconv.Itoa(p.ports.kwok),
		},
		readyURL: loopback("http", p.ports.kwok, "/healthz"),
	}
}

// writeStages writes the life cycles of Nodes and Pods that the binary embeds: kwok without
// stages changes nothing.
func writeStages(ctx context.Context, binDir string, dir layout) error {
	stages, err := exec.CommandContext(ctx, filepath.Join(binDir, "kwok-stages")).Output()
	if err != nil {
		return fmt.Errorf("read the stages of kwok: %w", err)
	}
	return os.WriteFile(dir.stages(), stages, 0o600)
}

// node returns a Node with more capacity than any test uses. The Node is created with the condition
// Ready=True, as by a kubelet's first report, so that the first Pod waits only for kube-scheduler.
func node() *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1000"),
		corev1.ResourceMemory:           resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName,
			Labels: map[string]string{
				corev1.LabelHostname:   nodeName,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "kwok", ContainerRuntimeVersion: "kwok://",
			},
		},
	}
}
