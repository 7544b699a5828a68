package security_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// creation is an object for which a pack creates another one.
type creation struct {
	object func(l land) client.Object
	// change changes the object so that the pack creates another one. It is nil where the fields are
	// immutable.
	change func(obj client.Object)
}

// creations are the kinds that packs create, as resource.group.
var creations = map[string]creation{
	"deployments.apps": {land.clinic, func(obj client.Object) {
		obj.(*iotv1alpha1.IotConnector).Spec.Containers[0].Image = "another"
	}},
	"serviceaccounts":                             {land.clinic, changeIdentity},
	"azureidentities.aadpodidentity.k8s.io":       {land.clinic, changeIdentity},
	"azureidentitybindings.aadpodidentity.k8s.io": {land.clinic, changeIdentity},
	"routerinterfaces." + cloudGroup.Group: {func(l land) client.Object {
		return l.outside("Subnet", "it", resources["Subnet"])
	}, nil},
}

func changeIdentity(obj client.Object) {
	obj.(*iotv1alpha1.IotConnector).Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "another"}
}

// bookkeeping are kinds of which the operator creates objects for itself.
var bookkeeping = []string{
	"events.events.k8s.io", "events", "leases.coordination.k8s.io", "secrets",
	"subjectaccessreviews.authorization.k8s.io", "tokenreviews.authentication.k8s.io",
	"pods/eviction",            // A dry run.
	"serviceaccounts/token",    // For its own accounts alone.
	"controllerrevisions.apps", // The record of a Component. No controller of Kubernetes acts on them.
}

// workloads are objects, as YAML, that the pack oam creates for the authors of a Component and of an
// application, by resource.group. Unlike the objects of creations, these are not asked for by the API
// server: the application is stored, and its condition tells what its author may not do.
var workloads = map[string]string{
	"configmaps":       `{apiVersion: v1, kind: ConfigMap}`,
	"services":         `{apiVersion: v1, kind: Service, spec: {ports: [{port: 1}]}}`,
	"daemonsets.apps":  `{apiVersion: apps/v1, kind: DaemonSet, spec: {` + podTemplate + `}}`,
	"deployments.apps": `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, ` + podTemplate + `}}`,
	"statefulsets.apps": `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0, serviceName: a, ` +
		podTemplate + `}}`,
	"jobs.batch": `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, ` + jobTemplate + `}}`,
	"cronjobs.batch": `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {` +
		jobTemplate + `}}}}`,
	"ingresses.networking.k8s.io": `{apiVersion: networking.k8s.io/v1, kind: Ingress, ` +
		`spec: {defaultBackend: {service: {name: a, port: {number: 1}}}}}`,
	"horizontalpodautoscalers.autoscaling": `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, ` +
		`spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}}`,
	"containerizedworkloads.core.oam.dev": `{apiVersion: core.oam.dev/v1alpha2, kind: ContainerizedWorkload, ` +
		`spec: {containers: [{name: a, image: none}]}}`,
	"manualscalertraits.core.oam.dev": `{apiVersion: core.oam.dev/v1alpha2, kind: ManualScalerTrait, ` +
		`spec: {replicaCount: 1, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: none}}}`,
}

const (
	podTemplate = `selector: {matchLabels: {a: b}}, ` +
		`template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: none}]}}`
	jobTemplate = `template: {spec: {restartPolicy: Never, containers: [{name: a, image: none}]}}`
)

// clinic is an IotConnector without a serviceIdentity.
func (l land) clinic() client.Object {
	c := &iotv1alpha1.IotConnector{ObjectMeta: l.named("clinic")}
	c.Spec.Containers = []iotv1alpha1.Container{{Type: "Normalization", Image: "none"}}
	return c
}

// TestAuthorsRights: a pack creates nothing for an author who may not create it, neither when the
// author creates an object nor when the author changes one. For each kind that a pack may create, an
// author lacks the right to create that kind alone.
func TestAuthorsRights(t *testing.T) {
	testenv.ApplyFile(t, "../iot/testdata/podidentity.yaml")
	for _, mode := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		for _, identity := range []iot.Identity{iot.WorkloadIdentity, iot.PodIdentity} {
			t.Run(fmt.Sprintf("%s %s", mode, identity), func(t *testing.T) {
				o := operator.Start(t, everyPack, func(o *options.Options) { o.Enforcement, o.Iot.Identity = mode, identity })
				l := newLand(t)
				for _, created := range l.created() {
					if identity == iot.PodIdentity && !strings.Contains(created, "azure") {
						continue // As without pod-identity.
					}
					t.Run(created, func(t *testing.T) {
						l := l
						l.T = t
						of, asked := creations[created]
						workload, stored := workloads[created]
						if !asked && !stored {
							t.Fatalf("no object is known for which %s are created", created)
						}
						if asked {
							l.lacks(created, of)
						}
						if stored && mode == pack.ByWebhook { // By policy, no author is on record.
							l.rendersNot(created, workload)
						}
					})
				}
				if err := o.Stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// created returns the kinds that the operator has the right to create, but for bookkeeping.
func (l land) created() []string {
	l.T.Helper()
	var all []string
	for _, g := range l.granted() {
		if !slices.Contains(g.Verbs, rbacv1.VerbAll) && !slices.Contains(g.Verbs, "create") {
			continue
		}
		for _, group := range g.APIGroups {
			for _, resource := range g.Resources {
				name := strings.TrimSuffix(resource+"."+group, ".")
				if !slices.Contains(bookkeeping, name) {
					all = append(all, name)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rendersNot has an author write a Component of a workload, and an application, without the right to
// create workloads of that kind, and then with it.
func (l land) rendersNot(created, workload string) {
	l.T.Helper()
	resource, group, _ := strings.Cut(created, ".")
	own := []rbacv1.PolicyRule{
		right(oamv1alpha2.GroupVersion.Group, "components", "create", "patch"),
		right(oamv1alpha2.GroupVersion.Group, "applicationconfigurations", "create", "patch"),
	}
	for other := range workloads {
		if r, g, _ := strings.Cut(other, "."); other != created {
			own = append(own, right(g, r, "create"))
		}
	}
	poor, rich := l.user("poor-of-"+resource), l.user("rich-of-"+resource)
	l.allow(poor, own...)
	l.allow(rich, append(own, right(group, resource, "create"))...)
	name := "of-" + resource
	// An author takes over what the author before has written: else both must have the right.
	write := func(user string) {
		text := fmt.Sprintf(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: %[1]s, annotations: {kinship.dev/take-authorship: %[3]s}}
spec: {workload: %[2]s, parameters: [{name: %[3]s, fieldPaths: [metadata.name]}]}
---
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: %[1]s, annotations: {kinship.dev/take-authorship: %[3]s}}
spec: {components: [{componentName: %[1]s, parameterValues: [{name: %[3]s, value: %[1]s}]}]}
`, name, workload, user)
		testenv.Apply(l.T, text, testenv.In(l.NS), testenv.With(testenv.As(l.T, user)))
	}
	app := &oamv1alpha2.ApplicationConfiguration{ObjectMeta: l.named(name)}
	says := func(want string) {
		l.T.Helper()
		testenv.Eventually(l.T, func() error {
			if got := fmt.Sprint(l.conditionsOf(app)); !strings.Contains(got, want) {
				return fmt.Errorf("conditions are %s, want %q", got, want)
			}
			return nil
		})
	}
	write(poor)
	says(fmt.Sprintf("the author %s may not create %s in namespace %s", poor, created, l.NS))
	made := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(workload), &made.Object); err != nil {
		l.T.Fatal(err)
	}
	made.SetNamespace(l.NS)
	made.SetName(name)
	if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(made), made); !apierrors.IsNotFound(err) {
		l.T.Errorf("%s of an author who may not create it: %v", created, err)
	}
	write(rich)
	says("ReconcileSuccess")
	l.Exists(made)
}

// lacks has an author create an object without the right to create one kind, and with it.
func (l land) lacks(created string, of creation) {
	l.T.Helper()
	name, _, _ := strings.Cut(created, ".")
	own := []rbacv1.PolicyRule{
		right(iotv1alpha1.GroupVersion.Group, "iotconnectors", "create", "update"),
		right(cloudGroup.Group, "subnets", "create"),
		right("", "secrets", "use"),
	}
	for other := range creations {
		if resource, group, _ := strings.Cut(other, "."); other != created {
			own = append(own, right(group, resource, "create"))
		}
	}
	poor, rich := l.user("poor-"+name), l.user("rich-"+name)
	l.allow(poor, own...)
	resource, group, _ := strings.Cut(created, ".")
	l.allow(rich, append(own, right(group, resource, "create"))...)
	obj := of.object(l)
	obj.SetName(name)
	l.distinguishes(poor, rich, func(c client.Client) error {
		return c.Create(l.T.Context(), obj.DeepCopyObject().(client.Object), client.DryRunAll)
	})
	if of.change == nil {
		return
	}
	l.Create(obj)
	l.distinguishes(poor, rich, func(c client.Client) error {
		changed := obj.DeepCopyObject().(client.Object)
		if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(obj), changed); err != nil {
			return err
		}
		of.change(changed)
		return c.Update(l.T.Context(), changed, client.DryRunAll)
	})
	l.Delete(obj)
	// The garbage collector may take half a minute for objects of a new kind, for which the operator
	// waits. An operator of another test would wait on.
	testenv.Eventually(l.T, func() error {
		err := l.Read(obj)
		if err == nil && len(obj.GetFinalizers()) > 0 {
			obj.SetFinalizers(nil)
			err = errors.Join(l.C.Update(l.T.Context(), obj), errors.New("the finalizer was there"))
		}
		return client.IgnoreNotFound(err)
	})
}

// distinguishes expects that a request of the user poor is refused, and that of the user rich is not.
func (l land) distinguishes(poor, rich string, request func(client.Client) error) {
	l.T.Helper()
	testenv.Eventually(l.T, func() error { // The API server learns of policies by a watch.
		err := request(l.As(poor))
		switch {
		case err == nil:
			return errors.New("an author without the right is not refused")
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "must be allowed to create"):
			return fmt.Errorf("refused with other words: %w", err)
		}
		return nil
	})
	testenv.Eventually(l.T, func() error { // The operator may write the object at the same moment.
		if err := request(l.As(rich)); err != nil {
			return fmt.Errorf("an author with the right: %w", err)
		}
		return nil
	})
}

// TestKindsOfOtherPacks: an administrator has given the pack oam rights to kinds that it must not act on, by a mistake.
// A tenant who may do everything in the namespace names these kinds in a Component. Nothing is created: the policies
// and webhooks of these kinds would judge the account of the pack oam in place of the tenant.
func TestKindsOfOtherPacks(t *testing.T) {
	operator.Start(t, everyPack)
	l := newLand(t)
	tenant := l.user("tenant")
	l.allow(tenant, right("*", "*", "*"))
	l.allow(options.OperatorOf("oam"), right("*", "*", "*"))
	for name, workload := range map[string]string{
		"networks.openstack.k-orc.cloud": `{apiVersion: openstack.k-orc.cloud/v1alpha1, kind: Network, ` +
			`metadata: {annotations: {openstack.k-orc.cloud/creating: "{}"}}, ` +
			`spec: {cloudCredentialsRef: {secretName: a, cloudName: a}, resource: {}}}`,
		"iotconnectors.services.azurehealthcareapis.com": `{apiVersion: services.azurehealthcareapis.com/v1alpha1, ` +
			`kind: IotConnector, spec: {containers: [{type: Normalization, image: a}]}}`,
		"usages.protection.crossplane.io": `{apiVersion: protection.crossplane.io/v1beta1, kind: Usage, ` +
			`spec: {of: {apiVersion: v1, kind: Secret, resourceRef: {name: a}}, reason: a}}`,
		"rolebindings.rbac.authorization.k8s.io": `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, ` +
			`roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}`,
	} {
		short, _, _ := strings.Cut(name, ".")
		text := fmt.Sprintf(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: %[1]s}
spec: {workload: %[2]s}
---
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: %[1]s}
spec: {components: [{componentName: %[1]s}]}
`, short, workload)
		testenv.Apply(t, text, testenv.In(l.NS), testenv.With(testenv.As(t, tenant)))
		app := &oamv1alpha2.ApplicationConfiguration{ObjectMeta: l.named(short)}
		testenv.Eventually(t, func() error {
			if got := fmt.Sprint(l.conditionsOf(app)); !strings.Contains(got, name+" can't be named") {
				return fmt.Errorf("conditions are %s", got)
			}
			return nil
		})
		made := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(workload), &made.Object); err != nil {
			t.Fatal(err)
		}
		made.SetNamespace(l.NS)
		made.SetName(short)
		if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(made), made); !apierrors.IsNotFound(err) {
			t.Errorf("%s of a tenant: %v", name, err)
		}
	}
}
