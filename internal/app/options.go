package app

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/oam"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
	"github.com/kinship-dev/kinship/internal/pack/usage"
)

// Names of the operator's objects in a cluster.
const (
	// Namespace is where the operator lives, and keeps its certificate and lease.
	Namespace = "kinship-system"
	// Account is the ServiceAccount of the process, inside and outside the cluster. Account may
	// create tokens of the packs' accounts.
	Account = "kinship"

	service           = "kinship-webhook"
	certificateSecret = "kinship-webhook-certificate"
	leaseName         = "kinship"
	partOf            = "kinship"
)

// userPrefix begins the user names of accounts in the operator's namespace.
const userPrefix = "system:serviceaccount:" + Namespace + ":"

// Operator is the user name that the process acts as.
const Operator = userPrefix + Account

// AccountOf returns the name of the ServiceAccount that a pack acts as.
func AccountOf(packName string) string { return Account + "-" + packName }

// OperatorOf returns the user name that a pack acts as.
func OperatorOf(packName string) string { return userPrefix + AccountOf(packName) }

// Operators returns all user names that the operator acts as, including the accounts of packs
// that are off: an installation of other packs may run beside this installation.
func Operators() pack.Operators {
	names := PackNames()
	all := make(pack.Operators, 0, len(names)+1)
	all = append(all, Operator)
	for _, name := range names {
		all = append(all, OperatorOf(name))
	}
	return all
}

// Options of the operator and of an installation.
type Options struct {
	// Config reaches the cluster, with the rights of the user who starts the operator.
	Config *rest.Config
	// Packs are the names of the packs to run; empty means all.
	Packs []string
	// Namespaces that the operator works in. The operator has no rights to objects in other
	// namespaces. Empty means all namespaces.
	Namespaces []string
	// Install applies the objects of the packs before the packs run.
	Install bool
	// Adopt lets the installation take over objects of another release.
	Adopt bool
	// Version of this build. An installation writes Version on its definitions. With an empty
	// Version the installation writes none, and compares none.
	Version string
	// Downgrade lets the installation write older definitions over the definitions of a newer
	// release.
	Downgrade bool
	// Enforcement says whether a webhook or a policy refuses deletions. Empty means ByWebhook.
	Enforcement pack.Enforcement
	// WebhookHost is the name or address by which the API server reaches this
	// process from outside the cluster. Empty means the in-cluster Service.
	WebhookHost string
	// WebhookPort is the port of the webhook server. Zero means 9443 or, with a WebhookHost,
	// the port of the last installation, or any free port.
	WebhookPort int
	// MetricsAddress and HealthAddress are where to serve; "0" means not at all.
	MetricsAddress, HealthAddress string
	// MetricsInsecure serves the metrics by plain HTTP to anybody, by default on the
	// loopback interface alone, instead of by HTTPS to callers with a token.
	MetricsInsecure bool
	// MetricsCertDir is the directory with tls.crt and tls.key of the metrics server. Changed
	// files are read again. Empty means a self-signed certificate.
	MetricsCertDir string
	// ProfileAddress is where to serve pprof, on the loopback interface; empty means not at
	// all.
	ProfileAddress string
	// TraceEndpoint is the URL of a receiver of traces by OTLP over HTTP, such as
	// http://collector:4318. Empty means that the environment decides: without
	// OTEL_EXPORTER_OTLP_ENDPOINT there are no traces.
	TraceEndpoint string
	// LeaderElect elects a leader among several replicas. Only the leader runs controllers.
	LeaderElect bool
	// Usage are the options of the pack usage.
	Usage usage.Options
	// Iot are the options of the pack iot.
	Iot iot.Options
	// Oam are the options of the pack oam.
	Oam oam.Options
	// Azure are the options of the pack azure.
	Azure azure.Options
	// Openstack are the options of the pack openstack.
	Openstack openstack.Options
	// Log is where to log to.
	Log logr.Logger
	// Ready, if set, is called once the operator answers admission requests.
	Ready func()

	tracing *tracing // set by Run; nil without traces
}

func (o Options) withDefaults() (Options, error) {
	if o.Enforcement == "" {
		o.Enforcement = pack.ByWebhook
	}
	if err := o.check(); err != nil {
		return o, err
	}
	o.Namespaces = slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))
	if o.WebhookPort == 0 && o.WebhookHost == "" {
		o.WebhookPort = 9443
	}
	return o, nil
}

// check returns an error that names every option with a wrong value.
func (o Options) check() error {
	_, unknown := choose(o)
	errs := []error{unknown, checkNamespaces(o.Namespaces), checkClouds(o), checkOamKinds(o)}
	if o.Enforcement != pack.ByWebhook && o.Enforcement != pack.ByPolicy {
		errs = append(errs, fmt.Errorf("enforcement is %q: it can be %s or %s", o.Enforcement, pack.ByWebhook, pack.ByPolicy))
	}
	if o.Iot.Identity != "" && o.Iot.Identity != iot.WorkloadIdentity && o.Iot.Identity != iot.PodIdentity {
		errs = append(errs,
			fmt.Errorf("identity is %q: it can be %s or %s", o.Iot.Identity, iot.WorkloadIdentity, iot.PodIdentity))
	}
	if o.ProfileAddress != "" && o.ProfileAddress != "0" {
		if err := checkLoopback(o.ProfileAddress); err != nil {
			errs = append(errs, fmt.Errorf("serve profiles, which anybody may read: %w", err))
		}
	}
	if o.TraceEndpoint != "" {
		_, err := traceEndpoint(o)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkClouds refuses unknown values of the options of the packs openstack and azure.
func checkClouds(o Options) error {
	switch o.Openstack.Conditions {
	case "", openstack.PublishedConditions, openstack.AllConditions:
	default:
		return fmt.Errorf("openstack conditions are %q: they can be %s or %s",
			o.Openstack.Conditions, openstack.PublishedConditions, openstack.AllConditions)
	}
	switch o.Azure.Credential {
	case "", azure.SecretCredential, azurecloud.DefaultCredential, azurecloud.NoCredential:
	default:
		return fmt.Errorf("azure credential is %q: it can be %s, %s or %s", o.Azure.Credential,
			azure.SecretCredential, azurecloud.DefaultCredential, azurecloud.NoCredential)
	}
	switch o.Azure.Submission {
	case "", azure.ByPut, azure.ByDeployment:
		return nil
	default:
		return fmt.Errorf("azure submission is %q: it can be %s or %s",
			o.Azure.Submission, azure.ByPut, azure.ByDeployment)
	}
}

// checkOamKinds refuses the kinds of other packs as workloads. The webhooks of those packs judge the user
// who writes an object, and would judge the operator in place of the author of the application: an author
// without a right to Deployments would get Deployments by an IotConnector.
func checkOamKinds(o Options) error {
	for _, k := range o.Oam.Kinds {
		for _, p := range Packs(o) {
			if p.Name != "oam" && slices.Contains(p.Definitions, k.String()) {
				return fmt.Errorf("the pack oam can't act on %s: the pack %s asks for the rights of the user who writes them",
					k, p.Name)
			}
		}
	}
	return nil
}

// installation returns the settings that the packs' objects depend on.
func (o Options) installation(mutatingPolicies bool) pack.Installation {
	in := pack.Installation{
		Operators: Operators(), Namespace: Namespace, Service: service,
		Enforcement: o.Enforcement, MutatingPolicies: mutatingPolicies, Namespaces: o.Namespaces,
	}
	if o.WebhookHost != "" {
		in.URL = "https://" + net.JoinHostPort(o.WebhookHost, strconv.Itoa(o.WebhookPort))
	}
	return in
}

// names returns the DNS names and addresses of the webhooks' certificate.
func (o Options) names() []string {
	if o.WebhookHost == "" {
		return []string{
			fmt.Sprintf("%s.%s.svc", service, Namespace),
			fmt.Sprintf("%s.%s.svc.cluster.local", service, Namespace),
		}
	}
	if ip := net.ParseIP(o.WebhookHost); ip != nil {
		return []string{ip.String()}
	}
	return []string{o.WebhookHost}
}
