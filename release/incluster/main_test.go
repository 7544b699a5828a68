package incluster_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/release/chart"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	if os.Getenv(programVar) != "" {
		os.Exit(program())
	}
	testenv.Main(m, testenv.ControlPlane(func(o *localcluster.Options) {
		// The API server calls webhooks at the addresses of EndpointSlices. There is no kube-proxy.
		o.ExtraArgs = map[string][]string{localcluster.APIServer: {"--enable-aggregator-routing=true"}}
	}))
}

// namespace creates the operator's namespace, which admits only Pods of the profile restricted.
func namespace(t *testing.T) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: chart.Namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
	}}}
	if err := operator.Client(t).Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
}

// allPacks are the values with which all packs are on.
func allPacks() map[string]any {
	all := map[string]any{}
	for _, name := range options.PackNames() {
		all[name] = map[string]any{"enabled": true}
	}
	return all
}

// manifests returns the rendered chart for a cluster that serves MutatingAdmissionPolicy.
func manifests(t *testing.T, values map[string]any) string {
	t.Helper()
	c, err := chart.Load("../../charts/kinship")
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Text(t.Context(), values, chart.Cluster{APIVersions: []string{chart.MutatingPolicies}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// kubeconfig writes a kubeconfig with a token of the ServiceAccount of the Deployment.
func kubeconfig(t *testing.T, account string) string {
	t.Helper()
	admin := testenv.Config(t)
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	token, err := clients.CoreV1().ServiceAccounts(chart.Namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ca := admin.CAData
	if len(ca) == 0 {
		if ca, err = os.ReadFile(admin.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: admin.Host, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "c",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// address returns an address of this machine that EndpointSlices may have: not a loopback address.
func address(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatal("this machine has no IPv4 address besides those of the loopback interface")
	return ""
}

// replica is a Pod of the Deployment, as a process.
type replica struct {
	*operator.Process

	slice *discoveryv1.EndpointSlice
}

// startReplica runs a replica. When the replica is ready, startReplica adds its address to the Service
// of the webhooks, as Kubernetes does.
func startReplica(t *testing.T, name, config string, args []string) *replica {
	t.Helper()
	_, text, err := net.SplitHostPort(operator.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	args = append(slices.Clone(args), "--kubeconfig", config, "--webhook-port", text, "--metrics-bind-address", "0")
	r := &replica{Process: operator.ExecArgs(t, args...)}
	r.slice = &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: chart.Namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "kinship-webhook"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address(t)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("webhook"), Port: new(int32(port))}},
	}
	if err := operator.Client(t).Create(t.Context(), r.slice); err != nil {
		t.Fatal(err)
	}
	return r
}

// kill kills the process of a replica, and removes its address from the Service.
func (r *replica) kill(t *testing.T) {
	t.Helper()
	r.Kill()
	if err := operator.Client(t).Delete(t.Context(), r.slice); err != nil {
		t.Fatal(err)
	}
}

func isReady(t *testing.T, usage client.Object) error {
	t.Helper()
	var u protectionv1beta1.Usage
	if err := operator.Client(t).Get(t.Context(), client.ObjectKeyFromObject(usage), &u); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(u.Status.Conditions, "Ready")
	switch {
	case ready == nil:
		return errors.New("no condition Ready")
	case ready.Status != metav1.ConditionTrue:
		return fmt.Errorf("%s: %s", ready.Reason, ready.Message)
	}
	return nil
}
