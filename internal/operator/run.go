package operator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/identity"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/logging"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/presence"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Run runs the operator until the context ends.
func Run(ctx context.Context, o options.Options) error {
	o, err := install.Prepare(ctx, o)
	if err != nil {
		return err
	}
	if o.Install {
		if err := install.Perform(ctx, o, checkAddresses(o)); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	traces, err := newTracing(ctx, o)
	if err != nil {
		return err
	}
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, process{o, traces, newLimits(o, chosen)}, chosen), traces.stop(ctx))
}

// process is what the parts of one operator share.
type process struct {
	options.Options

	tracing *tracing // nil without traces
	limits  *limits
}

// run runs an operator whose objects are installed.
func run(ctx context.Context, o process, chosen []pack.Pack) error {
	unlimited := rest.CopyConfig(o.Config)
	unlimited.QPS = -1 // The API server's own priority and fairness decides.
	own, operator, err := identity.AsOperator(ctx, unlimited)
	if err != nil {
		return err
	}
	own = o.tracing.traced(own)
	o.Log.Info("Acting as", "user", operator)
	env, err := environment(ctx, o.Options, own)
	if err != nil {
		return err
	}
	defer env.Watcher.Close() // If Start is never called.
	if err := checkRecords(ctx, o.Options, env, chosen); err != nil {
		return err
	}
	serving, err := newServing(ctx, o, own, chosen, env.Watcher)
	if err != nil {
		return err
	}
	mgr, err := newManager(ctx, o.Options, own, serving.forManager())
	if err != nil {
		return err
	}
	if err := assemble(ctx, o, mgr, own, chosen, env, serving); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// checkRecords calls CompareRecords, unless [install.Install] has just called CompareRecords.
func checkRecords(ctx context.Context, o options.Options, env pack.Environment, chosen []pack.Pack) error {
	if o.Install {
		return nil
	}
	mutating, err := guards.ServesMutatingPolicies(o)
	if err != nil {
		return err
	}
	if err := install.WarnIdle(ctx, o, env.Live); err != nil {
		return err
	}
	return guards.CompareRecords(ctx, o, env.Live, chosen, mutating, false)
}

// assemble adds all parts of the operator to the manager.Manager.
func assemble(
	ctx context.Context, o process, mgr manager.Manager, config *rest.Config, chosen []pack.Pack,
	env pack.Environment, serving serving,
) error {
	if err := serving.add(mgr); err != nil {
		return err
	}
	managers, running, err := addPacks(ctx, o, mgr, config, chosen, env, serving)
	if err != nil {
		return err
	}
	for _, m := range managers {
		if serving.server == nil || m.guards == nil {
			continue
		}
		if err := m.guards.CallWebhooks(o.Options, mgr, serving.metrics); err != nil {
			return err
		}
	}
	if err := addWatcher(mgr, env.Watcher, "operator"); err != nil {
		return err
	}
	present, err := presence.NewAnnouncement(o.Options, env.Live)
	if err != nil {
		return err
	}
	if err := mgr.Add(present); err != nil {
		return fmt.Errorf("add presence: %w", err)
	}
	announcer, err := newAnnouncer(o.Options, running, mgr, managers, serving)
	if err != nil {
		return err
	}
	return announcer.add()
}

// addWatcher adds a relation.Watcher and its metrics to the manager.Manager.
func addWatcher(mgr manager.Manager, w *relation.Watcher, pack string) error {
	if err := mgr.Add(w); err != nil {
		return fmt.Errorf("add watcher %s: %w", pack, err)
	}
	if err := ctrlmetrics.Registry.Register(w.Metrics(pack)); err != nil {
		return fmt.Errorf("register metrics of watcher %s: %w", pack, err)
	}
	return nil
}

// addPacks adds the packs, and returns the running packs with their packManager. A pack without a
// usable ServiceAccount (noAccount) does not run; the other packs do. If no pack can run, addPacks
// returns the noAccount error.
func addPacks(
	ctx context.Context, o process, mgr manager.Manager, config *rest.Config, chosen []pack.Pack,
	env pack.Environment, serving serving,
) ([]*packManager, []pack.Pack, error) {
	managers, running := make([]*packManager, 0, len(chosen)), make([]pack.Pack, 0, len(chosen))
	var stopped *noAccount
	for _, p := range chosen {
		own, err := addPack(ctx, o, mgr, config, p, chosen, env, serving)
		if errors.As(err, &stopped) {
			if err := stopped.tell(o.Log, mgr); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		managers, running = append(managers, own), append(running, p)
	}
	if len(running) == 0 && stopped != nil {
		return nil, nil, stopped
	}
	return managers, running, nil
}

// addPack adds a pack, which acts as [options.AccountOf] the pack, to the operator's manager.Manager.
func addPack(
	ctx context.Context, o process, mgr manager.Manager, base *rest.Config, p pack.Pack, chosen []pack.Pack,
	env pack.Environment, serving serving,
) (*packManager, error) {
	config, err := identity.AsPack(ctx, base, p.Name)
	if errors.Is(err, identity.ErrNotInstalled) || apierrors.IsForbidden(err) {
		return nil, &noAccount{p.Name, err}
	}
	if err != nil {
		return nil, err
	}
	o.Log.Info("Acting as", "user", options.OperatorOf(p.Name), "pack", p.Name)
	config = o.tracing.traced(config)
	own, err := newPackManager(o, mgr, config, p, chosen)
	if err != nil {
		return nil, err
	}
	own.tracer = o.tracing.tracer()
	theirs, err := environmentOf(ctx, o.Options, config, p, env)
	if err != nil {
		return nil, err
	}
	if theirs.Origin, err = serving.origin(config); err != nil {
		return nil, err
	}
	theirs.Health, theirs.NewCache, theirs.Trace = own.health, own.newCache, o.tracing.wrap
	if theirs.Watcher != nil {
		if err := addWatcher(mgr, theirs.Watcher, p.Name); err != nil {
			return nil, err
		}
	}
	env.Install = theirs.Install
	if own.guards, err = guards.NewMonitor(o.Options, env, theirs.Live, p, own.Gate(), mgr); err != nil {
		return nil, err
	}
	err = p.Setup(ctx, own, theirs)
	if meta.IsNoMatchError(err) {
		return nil, identity.ErrNotInstalled
	}
	if err != nil {
		return nil, fmt.Errorf("set up pack %s: %w", p.Name, err)
	}
	return own, nil
}

// environmentOf returns the pack.Environment of a pack.
func environmentOf(
	ctx context.Context, o options.Options, config *rest.Config, p pack.Pack, env pack.Environment,
) (pack.Environment, error) {
	live, err := options.NewClient(o, config)
	if err != nil {
		return env, err
	}
	recorder := guards.NewRecorder(env.Live, p.Name) // The account of the process reads the record.
	env.Install = guards.OnlyInstalled(env.Install, recorder)
	env.Live = inNamespacesOnly(live, o.Namespaces)
	env.Operators = pack.Operators{options.OperatorOf(p.Name)}
	env.Installation.Operators = env.Operators
	env.Refused = options.RefusedKinds(o, p.Name)
	if env.Metadata, err = metadata.NewForConfig(config); err != nil {
		return env, fmt.Errorf("make metadata client: %w", err)
	}
	env.Watcher = nil
	if !p.Watches {
		return env, nil
	}
	if env.Watcher, err = relation.NewWatcher(config, o.Log.WithName("watcher")); err != nil {
		return env, err
	}
	env.Watcher.In(o.Namespaces...)
	return env, env.Watcher.Refresh(ctx)
}

// environment returns the pack.Environment of the process, which acts as [options.Account].
func environment(ctx context.Context, o options.Options, config *rest.Config) (pack.Environment, error) {
	env := pack.Environment{
		Accounts: options.Operators(), Enforcement: o.Enforcement, Installation: o.Installation(false),
		Install: install.Installer(o),
	}
	var err error
	if env.Live, err = options.NewClient(o, config); err != nil {
		return env, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return env, fmt.Errorf("make client: %w", err)
	}
	env.Reviewer = authorise.NewReviewer(clients.AuthorizationV1().SubjectAccessReviews())
	if env.Watcher, err = relation.NewWatcher(config, o.Log.WithName("watcher")); err != nil {
		return env, err
	}
	return env, env.Watcher.Refresh(ctx)
}

// never is the CacheSyncTimeout of controllers. A CacheSyncTimeout that passes would end the whole
// operator. With never, a missing right stops one controller, which starts when an administrator
// grants the right.
const never = time.Duration(math.MaxInt64)

// The leader renews its Lease each retryPeriod. A follower reads the Lease after 1 to 2.2 times
// retryPeriod, and takes the Lease when it has seen no renewal for leaseDuration: after at most
// leaseDuration and 2 times 2.2 times retryPeriod, which is less than the 20 seconds that
// docs/install.md promises. A leader without a renewal ends itself after renewDeadline, before a
// follower leads.
const (
	leaseDuration = 12 * time.Second
	renewDeadline = 9 * time.Second
	retryPeriod   = 1600 * time.Millisecond
)

// leaderElection returns the options of a manager that elects a leader.
func leaderElection(o options.Options) ctrl.Options {
	return ctrl.Options{
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              options.LeaseName,
		LeaderElectionNamespace:       options.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
	}
}

// newManager returns the manager.Manager of the process, with the servers of metrics, probes and profiles.
func newManager(
	ctx context.Context, o options.Options, own *rest.Config, server webhook.Server,
) (manager.Manager, error) {
	scheme, err := options.NewScheme(o)
	if err != nil {
		return nil, err
	}
	options := leaderElection(o)
	options.Scheme = scheme
	options.Logger = logging.QuietEnd(logging.WithoutRoutine(o.Log), ctx.Done())
	options.Controller = config.Controller{CacheSyncTimeout: never}
	options.WebhookServer = server
	options.Metrics.BindAddress = "0" // The servers of controller-runtime take any number of connections.
	mgr, err := ctrl.NewManager(own, options)
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	probed, err := addProbes(ctx, o, mgr)
	if err != nil {
		return nil, err
	}
	if err := addMetrics(ctx, o, probed); err != nil {
		return nil, err
	}
	if err := addProfiles(ctx, o, probed); err != nil {
		return nil, err
	}
	return probed, nil
}

// serving is the webhook server with its certificate. serving is empty with pack.ByPolicy, since a
// ValidatingAdmissionPolicy in the API server then refuses deletions.
type serving struct {
	server       *admission.Server
	certificates *certificate.Manager
	truster      *guards.TrustWriter
	metrics      *admission.Metrics
}

// origin returns the pack.Origin of a pack that acts by a rest.Config, or nil without webhooks.
func (s serving) origin(config *rest.Config) (pack.Origin, error) {
	if s.server == nil {
		return nil, nil
	}
	return s.server.Origin(config)
}

// forManager returns the server as an interface, which is nil without webhooks.
func (s serving) forManager() webhook.Server {
	if s.server == nil {
		return nil
	}
	return s.server
}

// newServing returns the webhook server, with the certificate that certificate.Manager renews.
func newServing(
	ctx context.Context, o process, config *rest.Config, chosen []pack.Pack, watcher *relation.Watcher,
) (serving, error) {
	if o.Enforcement != pack.ByWebhook {
		return serving{}, nil
	}
	c, err := options.NewClient(o.Options, config)
	if err != nil {
		return serving{}, err
	}
	truster := guards.NewTrustWriter(c, chosen, watcher, o.Log.WithName("webhooks"))
	certificates := guards.NewCertificates(o.Options, c, truster.Trust)
	truster.Certificates = certificates
	if _, err := certificates.Begin(ctx); err != nil {
		return serving{}, fmt.Errorf("make the webhooks' certificate: %w", err)
	}
	options, err := o.Admission()
	if err != nil {
		return serving{}, err
	}
	options.Certificates, options.Room = certificates, o.limits.check
	metrics := admission.NewMetrics()
	return serving{admission.NewServer(options, metrics), certificates, truster, metrics}, nil
}

// add adds the webhook server to the manager.Manager.
func (s serving) add(mgr manager.Manager) error {
	if s.server == nil {
		return nil
	}
	if err := ctrlmetrics.Registry.Register(s.metrics); err != nil {
		return fmt.Errorf("register metrics of webhooks: %w", err)
	}
	if err := mgr.Add(s.certificates); err != nil {
		return fmt.Errorf("add certificates: %w", err)
	}
	if err := mgr.Add(s.truster); err != nil {
		return fmt.Errorf("add truster: %w", err)
	}
	mgr.GetWebhookServer() // The manager runs the server only if somebody has asked for the server.
	if err := mgr.AddReadyzCheck("webhook", s.server.StartedChecker()); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}
