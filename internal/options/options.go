package options

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/oam"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
	"github.com/kinship-dev/kinship/internal/pack/usage"
)

// ProbeNamespace returns the namespace for the dry runs of pack.Probe: the first of --namespaces, or
// kinship-system.
func (o Options) ProbeNamespace() string {
	if len(o.Namespaces) > 0 {
		return o.Namespaces[0]
	}
	return Namespace
}

// PartOfLabel is the label of the objects that an installation applies. Its value is PartOf.
const PartOfLabel = "app.kubernetes.io/part-of"

// Names of the operator's objects in a cluster.
const (
	// Namespace is the namespace of the operator, of its certificate's Secret and of its Leases.
	Namespace = "kinship-system"
	// Account is the ServiceAccount of the process, inside and outside the cluster. Account may
	// create tokens of each [AccountOf] a pack.
	Account = "kinship"

	Service           = "kinship-webhook"
	CertificateSecret = "kinship-webhook-certificate"
	LeaseName         = "kinship"
	PartOf            = "kinship"
)

// UserPrefix begins the user name of each ServiceAccount in [Namespace].
const UserPrefix = "system:serviceaccount:" + Namespace + ":"

// Operator is the user name of [Account].
const Operator = UserPrefix + Account

// AccountOf returns the ServiceAccount that a pack acts as, such as kinship-usage.
func AccountOf(packName string) string { return Account + "-" + packName }

// SubjectOf returns an account of the operator as a subject of bindings.
func SubjectOf(account string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: account}
}

// OperatorOf returns the user name of [AccountOf] a pack.
func OperatorOf(packName string) string { return UserPrefix + AccountOf(packName) }

// Operators returns [Operator] and [OperatorOf] every pack, including packs that are off: another
// operator with other packs may run beside this operator.
func Operators() pack.Operators {
	names := PackNames()
	all := make(pack.Operators, 0, len(names)+1)
	all = append(all, Operator)
	for _, name := range names {
		all = append(all, OperatorOf(name))
	}
	return all
}

// Options are the options of operator.Run, install.Install and uninstall.Uninstall.
type Options struct {
	// Config reaches the cluster as the user who starts the operator.
	Config *rest.Config
	// Packs are the names of the packs to run, such as usage; empty means all.
	Packs []string
	// Namespaces are the namespaces in which the operator may act. The operator has no rights to
	// objects in other namespaces. Empty means all namespaces.
	Namespaces []string
	// Install makes operator.Run apply the objects of the packs before the packs run.
	Install bool
	// Adopt lets install.Install take over objects without the label app.kubernetes.io/part-of=kinship.
	Adopt bool
	// TakeWebhooks lets install.Install take over webhooks that a running operator answers at another address, and
	// replace the guards of a running operator with another Enforcement.
	TakeWebhooks bool
	// Version of this build. install.Install writes Version as a label on CustomResourceDefinitions. With
	// an empty Version, install.Install writes no label, and compares no versions.
	Version string
	// Downgrade lets install.Install replace CustomResourceDefinitions of a newer release by older
	// CustomResourceDefinitions.
	Downgrade bool
	// Enforcement says whether a webhook or a ValidatingAdmissionPolicy refuses deletions. Empty
	// means pack.ByWebhook.
	Enforcement pack.Enforcement
	// WebhookHost is the DNS name or IP address by which the API server reaches this process from
	// outside the cluster. Empty means the Service kinship-webhook.
	WebhookHost string
	// WebhookPort is the port of the webhook server. Zero means 9443 or, with a WebhookHost, the
	// port of the last install.Install, or any free port.
	WebhookPort int
	// WebhookProtocols are the protocols that the webhook server offers in TLS, such as http/1.1. Empty
	// means h2.
	WebhookProtocols []string
	// AdmissionFrom are the networks of the API servers, such as 10.0.0.0/28: the webhook server closes connections
	// of other clients. Empty means every client.
	AdmissionFrom []string
	// AdmissionClientCA is a file with the CAs, as PEM, of the client certificates that the API servers present to
	// webhooks. The webhook server then answers no review without such a certificate. Empty means none.
	AdmissionClientCA string
	// MaxObjectSize is the size, in bytes of JSON, of the largest object of Kinship's kinds that the webhooks take. Zero
	// means 256 KiB.
	MaxObjectSize int
	// MaxNamespaceSize is the most memory, in bytes, that the objects of Kinship's kinds in a namespace may take in the
	// operator. Zero means 64 MiB. Usages are not bounded by MaxNamespaceSize.
	MaxNamespaceSize int
	// MetricsAddress and HealthAddress are the addresses of the servers, such as :8080; "0" means
	// no server.
	MetricsAddress, HealthAddress string
	// MetricsInsecure serves the metrics by plain HTTP to every caller, by default on 127.0.0.1
	// alone, instead of by HTTPS to callers with a token.
	MetricsInsecure bool
	// MetricsCertDir is the directory with tls.crt and tls.key of the metrics server. The server
	// reads changed files again. Empty means a self-signed certificate.
	MetricsCertDir string
	// ProfileAddress is the loopback address of a pprof server; empty means no server.
	ProfileAddress string
	// TraceEndpoint is the URL of a receiver of traces by OTLP over HTTP, such as
	// http://collector:4318. If TraceEndpoint is empty, OTEL_EXPORTER_OTLP_ENDPOINT and
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT decide; without both, the operator sends no traces.
	TraceEndpoint string
	// LeaderElect elects a leader among several replicas. Only the leader runs controllers.
	LeaderElect bool
	// Usage are the usage.Options.
	Usage usage.Options
	// Iot are the iot.Options.
	Iot iot.Options
	// Oam are the oam.Options.
	Oam oam.Options
	// Azure are the azure.Options.
	Azure azure.Options
	// Openstack are the openstack.Options.
	Openstack openstack.Options
	// Log receives all lines of the operator's log.
	Log logr.Logger
	// Ready, if set, is called once the API server reaches the operator's webhooks.
	Ready func()
}

// WithDefaults returns the options with defaults, or an error that names every option with a wrong value.
func (o Options) WithDefaults() (Options, error) {
	if o.Enforcement == "" {
		o.Enforcement = pack.ByWebhook
	}
	if err := o.check(); err != nil {
		return o, err
	}
	o.Config = WithoutWarnings(o.Config)
	o.Namespaces = slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))
	if o.WebhookPort == 0 && o.WebhookHost == "" {
		o.WebhookPort = 9443
	}
	return o, nil
}

// WithoutWarnings returns a rest.Config whose clients do not print the warnings of the API server, which are for
// authors of manifests.
func WithoutWarnings(config *rest.Config) *rest.Config {
	if config == nil {
		return nil
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// Installation returns the pack.Installation that pack.Objects depends on.
func (o Options) Installation(mutatingPolicies bool) pack.Installation {
	in := pack.Installation{
		Namespace: Namespace, Service: Service,
		Enforcement: o.Enforcement, MutatingPolicies: mutatingPolicies, Namespaces: o.Namespaces,
	}
	if o.WebhookHost != "" {
		in.URL = "https://" + o.WebhookAddress()
	}
	return in
}

// WebhookAddress returns where the API server calls the webhooks: host and port, or a Service, which replicas share.
func (o Options) WebhookAddress() string {
	if o.WebhookHost == "" {
		return "Service " + Service
	}
	return net.JoinHostPort(o.WebhookHost, strconv.Itoa(o.WebhookPort))
}

// WebhookNames returns the DNS names or the IP address for the webhooks' certificate.
func (o Options) WebhookNames() []string {
	if o.WebhookHost == "" {
		return []string{
			fmt.Sprintf("%s.%s.svc", Service, Namespace),
			fmt.Sprintf("%s.%s.svc.cluster.local", Service, Namespace),
		}
	}
	if ip := net.ParseIP(o.WebhookHost); ip != nil {
		return []string{ip.String()}
	}
	return []string{o.WebhookHost}
}

// With returns the [Options] with other Options.Packs.
func (o Options) With(packs []string) Options {
	o.Packs = packs
	return o
}
