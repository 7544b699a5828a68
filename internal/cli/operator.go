package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinship-dev/kinship/internal/cli/clouds"
	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/identity"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/logging"
	"github.com/kinship-dev/kinship/internal/operator"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
)

// operatorCommand is the command "kinship operator": options.Options and the text forms of its flags.
type operatorCommand struct {
	genericiooptions.IOStreams

	flags   *command.KubeFlags
	options options.Options
	verbose bool
	// brief says that the command prints a report of its own, and logs only warnings.
	brief bool
	// logFormat is text or json.
	logFormat string
	// authorities is the file name of Options.Openstack.Authorities.
	authorities string
	// open and closed are the CIDR texts of Options.Openstack.Open and Options.Openstack.Closed.
	open, closed []string
	// kinds and using are resources in the form of parseResources().
	kinds, using, oamKinds []string
	// catalogue is the file name of Options.Azure.Catalogue.
	catalogue string
	// metricsSecure is the opposite of Options.MetricsInsecure.
	metricsSecure bool
}

// asOperator returns the state of a command that reaches the cluster as the operator does. Only "kinship operator"
// has the flag --log-format: the other commands log text.
func asOperator(streams genericiooptions.IOStreams) operatorCommand {
	return operatorCommand{IOStreams: streams, flags: command.NewKubeFlags(), logFormat: textLog}
}

func newOperator(version string, streams genericiooptions.IOStreams) *cobra.Command {
	c := asOperator(streams)
	c.options.Version = version
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the controllers and webhooks",
		Long: `Run the controllers and webhooks, in a cluster or against one from outside.

Without --install nothing is changed that is not there already. With it, all is checked
before the first write. From outside,
give --webhook-host: the address by which the API server reaches this process.`,
		Example: "  kinship operator --kubeconfig FILE --install --packs usage --webhook-host 127.0.0.1",
		Args:    cobra.NoArgs,
		RunE:    c.run,
	}
	c.flags.AddTo(cmd.Flags())
	f, o := cmd.Flags(), &c.options
	addPacks(f, &c.options, "those of the last installation, or usage in a cluster without one")
	c.addInstallationFlags(f, pack.ByWebhook, iot.WorkloadIdentity)
	f.BoolVar(&o.Install, "install", false, "apply definitions, rights, webhooks and policies before running")
	f.BoolVar(&o.Adopt, "adopt", false, "with --install, adopt the objects of another release")
	f.BoolVar(&o.TakeWebhooks, "take-webhooks", false,
		"with --install, take over webhooks that a running operator answers at another address")
	f.BoolVar(&o.Downgrade, "install-downgrade", false,
		"with --install, replace the definitions of a newer release")
	c.addWebhookFlags(f)
	f.StringVar(&o.MetricsAddress, "metrics-bind-address", "",
		"address to serve metrics on; 0 to not serve them (default :8080, or 127.0.0.1:8080 with --metrics-secure=false)")
	f.BoolVar(&c.metricsSecure, "metrics-secure", true,
		"serve metrics by HTTPS to callers whose token has the right to get /metrics; false: by HTTP to anybody")
	f.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "",
		"directory with tls.crt and tls.key for the metrics (default a self-signed certificate)")
	f.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081",
		"address to serve health checks on; 0 to not serve them")
	f.StringVar(&o.ProfileAddress, "pprof-bind-address", "",
		"address of the loopback interface to serve profiles on (default not served)")
	f.StringVar(&o.TraceEndpoint, "otlp-endpoint", "",
		"URL to send traces to by OTLP over HTTP, as in http://collector:4318 (default that of "+
			"OTEL_EXPORTER_OTLP_ENDPOINT, or no traces)")
	f.BoolVar(&o.LeaderElect, "leader-elect", true, "have one of several replicas do the work; all answer admission")
	f.DurationVar(&o.Usage.GracePeriod, "usage-grace-period", 0,
		"how long a deleted Usage waits for the deletion of its using object to begin (default 5s)")
	f.DurationVar(&o.Usage.ReplayExpiry, "usage-replay-expiry", 0,
		"how long a refused deletion is remembered for replay (default 24h)")
	f.IntVar(&o.Usage.MaxPerNamespace, "usage-max-per-namespace", 0,
		"how many Usages may be created in one namespace (default any number); not with --enforcement=policy")
	f.IntVar(&o.Openstack.Workers, "openstack-workers", 8,
		"how many OpenStack objects of a kind, of one namespace at one cloud, are worked on at once")
	f.DurationVar(&o.Openstack.Resync, "openstack-resync", 10*time.Minute,
		"how often OpenStack resources are compared with their specs; negative is never")
	f.Float64Var(&o.Openstack.QPS, "openstack-qps", 50, "how many calls per second one cloud gets")
	f.Int64Var(&o.Openstack.Calls, "openstack-calls", 8,
		"how many calls of one namespace to one service of a cloud are under way at once")
	f.StringSliceVar(&o.Openstack.Hosts, "openstack-hosts", nil,
		"hosts that credentials, clouds and images may have the operator call, as in *.cloud.example (default all)")
	f.StringSliceVar(&c.open, openFlag, nil,
		"ranges of addresses that may be called for OpenStack although they are closed by default (loopback, link-local "+
			"and multicast ones, Services and Pods of the cluster), as in 127.0.0.0/8,::1/128")
	f.StringSliceVar(&c.closed, closedFlag, nil,
		"ranges of addresses that are not called for OpenStack either, such as that of the cluster's Pods where Nodes have "+
			"no podCIDRs")
	f.StringVar(&c.authorities, authoritiesFlag, "",
		"file of PEM certificates to trust clouds by where a Secret has no cacert; it is read at the start alone "+
			"(default the certificates of the system)")
	f.StringVar((*string)(&o.Openstack.Conditions), "openstack-conditions", string(openstack.PublishedConditions),
		"conditions of OpenStack objects: published (Available and Progressing) or all (also Ready and Drifted)")
	c.addOamFlags(cmd)
	c.addAzureFlags(cmd)
	f.BoolVar(&c.verbose, "verbose", false, "log more")
	f.StringVar(&c.logFormat, "log-format", textLog, "format of the log: text or json")
	return cmd
}

// addInstallationFlags adds the flags that definitions, rights, webhooks and policies depend on.
func (c *operatorCommand) addInstallationFlags(f *pflag.FlagSet, enforcement pack.Enforcement, identity iot.Identity) {
	o := &c.options
	f.StringSliceVar(&o.Namespaces, "namespaces", nil,
		"namespaces to work in, which exist: with --install, the operator gets rights in these alone (default all)")
	f.StringVar((*string)(&o.Enforcement), "enforcement", string(enforcement),
		"what refuses deletions: webhook (says who is in the way) or policy (in the API server, fixed text)")
	f.StringSliceVar(&c.kinds, kindsFlag, nil,
		"resources that Usages may protect, as in configmaps,clusters.eks.upbound.io: with --install, the pack usage "+
			"gets rights to these alone (default any)")
	f.StringSliceVar(&c.using, usingFlag, nil,
		"with --kinds, further resources that may use protected ones, as in releases.helm.crossplane.io")
	f.StringVar((*string)(&o.Usage.LiftedBy), "usage-lifted-by", "",
		"with --install, users with which Kubernetes role in a namespace may change and delete Usages, and so lift "+
			"protection: edit (and admin), admin or none (default edit)")
	f.StringSliceVar(&c.oamKinds, "oam-kinds", nil,
		"resources of workloads, traits and scopes that Kubernetes does not have, as in mydbs.standard.oam.dev: with "+
			"--install, the pack oam gets rights to them")
	f.StringVar((*string)(&o.Iot.Identity), "identity", string(identity),
		"what the identity of an IotConnector is made of: workload-identity or pod-identity")
}

// addWebhookFlags adds the flags of the webhooks' address.
func (c *operatorCommand) addWebhookFlags(f *pflag.FlagSet) {
	f.StringVar(&c.options.WebhookHost, "webhook-host", "",
		"address by which the API server reaches this process from outside the cluster")
	f.IntVar(&c.options.WebhookPort, "webhook-port", 0,
		"port of the webhooks (default 9443, or any free one with --webhook-host)")
	f.StringSliceVar(&c.options.AdmissionFrom, "admission-from", nil,
		"networks of the API servers, as in 10.0.0.0/28: the webhook server closes connections of other clients "+
			"(default any client)")
	f.IntVar(&c.options.MaxObjectSize, "max-object-size", 0,
		"bytes of the largest object of Kinship's kinds that the webhooks take (default 262144)")
	f.IntVar(&c.options.MaxNamespaceSize, "max-namespace-size", 0,
		"bytes of memory that the objects of Kinship's kinds in a namespace may take, without Usages (default 67108864)")
	f.StringVar(&c.options.AdmissionClientCA, "admission-client-ca", "",
		"file with the CA, as PEM, of the client certificates that the API servers present to webhooks: others get no "+
			"answer; use a CA that signs nothing else")
}

// parseKinds sets the resources of options.Options from their flags.
func (c *operatorCommand) parseKinds() error {
	if len(c.using) > 0 && len(c.kinds) == 0 {
		return fmt.Errorf("--%s needs --%s: without it any kind may be used and use", usingFlag, kindsFlag)
	}
	c.options.Usage.Kinds, c.options.Usage.Using = parseResources(c.kinds), parseResources(c.using)
	c.options.Oam.Kinds = parseResources(c.oamKinds)
	return nil
}

func (c *operatorCommand) addOamFlags(cmd *cobra.Command) {
	f, o := cmd.Flags(), &c.options.Oam
	f.BoolVar(&o.TrustRBAC, "oam-trust-rbac", false,
		"create workloads and traits without asking for the rights of the authors: who may write Components then has the "+
			"rights of the operator in the namespace")
	f.BoolVar(&o.ApplyOnce, "oam-apply-once-only", false,
		"leave the changes of others in workloads and traits until the application or its Component changes")
}

func (c *operatorCommand) addAzureFlags(cmd *cobra.Command) {
	f, o := cmd.Flags(), &c.options.Azure
	f.StringVar(&o.Endpoint, "azure-endpoint", "",
		"address of Azure Resource Manager (default https://management.azure.com)")
	f.StringVar(&o.Credential, "azure-credential", azure.SecretCredential,
		"credentials of Azure objects without spec.credentialsRef: secret (such objects are refused), default (those of "+
			"the operator's environment, which then act for every user who may write Azure objects) or none (for the emulator)")
	f.StringVar(&o.Subscription, "azure-subscription", "",
		"subscription of Azure objects without ownerRef and spec.credentialsRef")
	c.addCatalogueFlag(f)
	f.StringVar((*string)(&o.Submission), "azure-submission", string(azure.ByPut),
		"how resources are sent to Azure: put (by id) or deployment (a template for each)")
	f.DurationVar(&o.Resync, "azure-resync", 10*time.Minute,
		"how often Azure resources are compared with their specs; negative is never")
}

// addCatalogueFlag adds the flag of the file with the kinds of Azure.
func (c *operatorCommand) addCatalogueFlag(f *pflag.FlagSet) {
	f.StringVar(&c.catalogue, "azure-catalogue", "",
		"file of armgen with the kinds of Azure and their api-versions (default the embedded one)")
}

func (c *operatorCommand) run(cmd *cobra.Command, _ []string) error {
	c.options.MetricsInsecure = !c.metricsSecure
	if err := c.parseKinds(); err != nil {
		return err
	}
	var err error
	if c.options.Azure.Catalogue, err = clouds.ReadCatalogue(c.catalogue); err != nil {
		return err
	}
	if c.options.Openstack.Authorities, err = readAuthorities(c.authorities); err != nil {
		return err
	}
	if c.options.Openstack.Open, err = parseRanges(openFlag, c.open); err != nil {
		return err
	}
	if c.options.Openstack.Closed, err = parseRanges(closedFlag, c.closed); err != nil {
		return err
	}
	if err := c.complete(); err != nil {
		return err
	}
	if err := c.completePacks(cmd.Context()); err != nil {
		return err
	}
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	limitMemory(c.options.Log, memlimit.FromCgroup)
	ctx, cancel := context.WithCancel(cmd.Context())
	var thrift sync.WaitGroup
	thrift.Go(func() { giveBack(ctx) })
	defer thrift.Wait()
	defer cancel()
	return operator.Run(ctx, c.options)
}

// Flags for the ClusterRole of the usage pack.
const (
	kindsFlag = "kinds"
	usingFlag = "using-kinds"
)

// parseResources reads resources in the form of kubectl, such as deployments.apps.
func parseResources(names []string) []schema.GroupResource {
	all := make([]schema.GroupResource, 0, len(names))
	for _, name := range names {
		all = append(all, schema.ParseGroupResource(name))
	}
	return all
}

// complete sets the rest.Config of options.Options from the kubectl flags.
func (c *operatorCommand) complete() error {
	config, err := c.flags.Config()
	if err != nil {
		return err
	}
	config.QPS = -1 // The API server's own priority and fairness decides.
	c.options.Config = config
	c.options.Log, err = newLog(c.ErrOut, c.logFormat, logLevel(c.verbose, c.brief))
	return err
}

// logLevel returns the least level of lines in the log.
func logLevel(verbose, brief bool) slog.Level {
	switch {
	case verbose:
		return slog.LevelDebug
	case brief:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// addPacks adds --packs. The text unset says which packs a command takes without --packs.
func addPacks(f *pflag.FlagSet, o *options.Options, unset string) {
	f.StringSliceVar(&o.Packs, "packs", nil,
		"packs, separated by commas: "+strings.Join(options.PackNames(), ", ")+" (default "+unset+")")
}

// completePacks sets the packs of an operator for which --packs names none.
func (c *operatorCommand) completePacks(ctx context.Context) (err error) {
	if len(c.options.Packs) > 0 {
		return nil
	}
	live, err := options.NewClient(options.Options{}, c.options.Config)
	if err != nil {
		return err
	}
	c.options.Packs, err = install.LastPacks(ctx, live)
	if apierrors.IsForbidden(err) && !c.options.Install {
		// In the cluster, the account of the process may read no accounts, and may act as those that are installed.
		c.options.Packs, err = identity.Installed(ctx, c.options.Config)
	}
	if err != nil {
		return err
	}
	c.options.Log.Info("Running the packs of the last installation, or those of a first one", "packs",
		strings.Join(c.options.Packs, ","))
	return nil
}

// Formats of the log.
const (
	textLog = "text"
	jsonLog = "json"
)

// newLog returns the logr.Logger of the operator, of controller-runtime and of klog.
func newLog(w io.Writer, format string, level slog.Level) (logr.Logger, error) {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch format {
	case textLog:
		handler = slog.NewTextHandler(w, options)
	case jsonLog:
		handler = slog.NewJSONHandler(w, options)
	default:
		return logr.Discard(), fmt.Errorf("--log-format is %q: it can be %s or %s", format, textLog, jsonLog)
	}
	log := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logging.WithoutRoutine(log))
	klog.SetLogger(logging.WithoutRoutine(log))
	return log, nil
}
