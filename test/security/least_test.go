package security_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// seldom are rights whose occasion no test of a minute brings about, with the
// reason for which they are there.
var seldom = map[string]string{
	"patch events":               "an event that is repeated for minutes",
	"patch events.events.k8s.io": "an event that is repeated for minutes",
	"create secrets":             "the Secret was deleted: test/chaos does that",
	"create deployments.apps":    "a patch that creates needs it too",
	"create serviceaccounts":     "a patch that creates needs it too",
	"get deployments.apps":       "one that is not as the cache has it: test/iot does that",
	"get serviceaccounts":        "one that is not as the cache has it",
	"update iotconnectors/finalizers.services.azurehealthcareapis.com": "where the API server checks owners",
	"update secrets":                                           "a certificate that is renewed: test/chaos does that",
	"patch components.core.oam.dev":                            "authors that were written while a guard was missing",
	"delete controllerrevisions.apps":                          "the revisions beyond the limit: test/oam does that",
	"get controllerrevisions.apps":                             "one that has the name of a revision: test/oam does that",
	"patch controllerrevisions.apps":                           "authors that were written while a guard was missing",
	"update applicationconfigurations/finalizers.core.oam.dev": "where the API server checks owners",
	"update components/finalizers.core.oam.dev":                "where the API server checks owners",
	"update containerizedworkloads/finalizers.core.oam.dev":    "where the API server checks owners",
}

func init() {
	for name := range workloads {
		seldom["create "+name] = "a patch that creates needs it too"
		seldom["get "+name] = "an object that data is read from: test/oam does that"
	}
}

// asked is one request of the operator, as the API server has written it down.
type asked struct {
	Received metav1.MicroTime `json:"requestReceivedTimestamp"`
	Verb     string           `json:"verb"`
	User     struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
}

func (a asked) resource() string {
	return strings.TrimSuffix(a.ObjectRef.Resource+"/"+a.ObjectRef.Subresource, "/")
}

// TestLeastRights takes Usages of all sorts through their lives and then compares
// what the operator has asked of the API server with what it may: nothing was
// forbidden, and nothing is allowed that was not asked.
func TestLeastRights(t *testing.T) {
	began := time.Now() // Other tests take rights away.
	port := testenv.FreePort(t)
	cloud := azureCloud(t)
	o := operator.Start(t, func(o *options.Options) {
		o.LeaderElect, o.Packs, o.MetricsAddress = true, nil, fmt.Sprintf("127.0.0.1:%d", port)
		o.Azure.Endpoint, o.Azure.Credential = cloud.URL(), azure.NoCredential
	})
	l := newLand(t)
	s := scraper{l, port}
	s.scrape(s.token("reader", true))
	l.everything()
	l.connector()
	l.clouds()
	l.applications()
	l.groups()
	if err := o.Stop(); err != nil { // Which ends its watches, and they are written down.
		t.Fatal(err)
	}
	all := l.granted()
	for _, g := range all {
		t.Logf("%s", g)
	}
	var requests []asked
	testenv.Eventually(t, func() error { // What was answered last may not be written down yet.
		requests = l.audit()
		return idle(all, requests)
	})
	t.Logf("the operator sent %d requests", len(requests))
	for _, a := range requests {
		if a.Received.Time.Before(began) {
			continue
		}
		// It may also be forbidden to create something in a namespace that ends.
		if message := a.ResponseStatus.Message; a.ResponseStatus.Code == 403 && strings.Contains(message, "cannot "+a.Verb) {
			t.Errorf("%s of %s was forbidden: %s", a.Verb, a.resource(), message)
		}
	}
}

// idle returns an error that names the rights that none of the requests needed.
func idle(all []granted, requests []asked) error {
	var found []error
	for _, g := range all {
		for _, unused := range g.unused(requests) {
			if seldom[unused] == "" {
				found = append(found, fmt.Errorf("%s may %s, and never did", g.role, unused))
			}
		}
	}
	return errors.Join(found...)
}

// applications has an application create an object of each kind of workload in a scope, and then delete
// each of them.
func (l land) applications() {
	l.T.Helper()
	testenv.ApplyFile(l.T, "../../examples/oam/oam.yaml")
	names := make([]string, 0, len(workloads))
	for name, workload := range workloads {
		component, _, _ := strings.Cut(name, ".")
		names = append(names, component)
		l.component(component, workload)
	}
	l.component("last", workloads["configmaps"])
	l.application("HealthScope", "{workloadRefs: []}")
	const scope = "scopes: [{scopeRef: {apiVersion: core.oam.dev/v1alpha2, kind: HealthScope, name: life}}]"
	l.application("ApplicationConfiguration",
		"{components: [{componentName: "+strings.Join(names, ", "+scope+"}, {componentName: ")+", "+scope+"}]}")
	l.application("ManualScalerTrait",
		"{replicaCount: 0, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: deployments}}")
	l.application("ApplicationConfiguration", "{components: [{componentName: last}]}")
}

func (l land) component(name, workload string) {
	l.T.Helper()
	testenv.Apply(l.T, fmt.Sprintf("apiVersion: core.oam.dev/v1alpha2\nkind: Component\nmetadata: {name: %s}\n"+
		"spec: {workload: %s}", name, workload), testenv.In(l.NS))
}

// application applies an ApplicationConfiguration or a HealthScope with a spec, and waits until the object
// is synced.
func (l land) application(kind, spec string) {
	l.T.Helper()
	testenv.Apply(l.T, fmt.Sprintf("apiVersion: core.oam.dev/v1alpha2\nkind: %s\nmetadata: {name: life}\nspec: %s",
		kind, spec), testenv.In(l.NS))
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(oamv1alpha2.GroupVersion.WithKind(kind))
	obj.SetNamespace(l.NS)
	obj.SetName("life")
	testenv.Eventually(l.T, func() error {
		if err := l.Read(obj); err != nil {
			return err
		}
		observed, found, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		conditions := fmt.Sprint(l.conditionsOf(obj))
		if found && observed != obj.GetGeneration() || !strings.Contains(conditions, "ReconcileSuccess") {
			return fmt.Errorf("%s: generation %d of %d, %s", kind, observed, obj.GetGeneration(), conditions)
		}
		return nil
	})
}

// everything has Usages do all that they can.
func (l land) everything() {
	l.T.Helper()
	other := newLand(l.T)
	pod := &corev1.Pod{ObjectMeta: l.named("pod"), Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "none"}},
	}}
	l.Create(l.configMap("used"), l.secret("using"), other.configMap("used"), pod)
	replaying, pods := l.usage("replaying"), l.usage("pods")
	replaying.Spec.ReplayDeletion = new(true)
	pods.Spec.Of = resource("Pod", "pod")
	outside := &protectionv1beta1.ClusterUsage{ObjectMeta: metav1.ObjectMeta{Name: l.NS}, Spec: replaying.Spec}
	outside.Spec.Of, outside.Spec.By = in(other.NS, resource("ConfigMap", "used")), nil
	outside.Spec.Reason = new("because")
	l.Create(l.configMap("other"))
	spec := sharedv1alpha1.UsageSpec{ // The end of its using object no owner reference can tell.
		Of: in(l.NS, resource("ConfigMap", "other")), By: new(in(l.NS, resource("Secret", "using"))),
	}
	legacy := &usagev1alpha1.Usage{ObjectMeta: metav1.ObjectMeta{Name: l.NS}, Spec: spec}
	ending := &protectionv1beta1.ClusterUsage{ObjectMeta: metav1.ObjectMeta{Name: l.NS + "-ending"}, Spec: spec}
	l.Create(replaying, pods, outside, l.reaching(other), legacy, ending)
	testenv.Eventually(l.T, func() error { return l.isBound(ending, legacy) })
	l.awaitReady(replaying)
	l.awaitReady(pods)
	if err := l.C.Delete(l.T.Context(), l.configMap("used")); !apierrors.IsConflict(err) {
		l.T.Errorf("deletion: %v, want a conflict", err)
	}
	if err := l.C.SubResource("eviction").Create(l.T.Context(), pod, &policyv1.Eviction{}); !apierrors.IsConflict(err) {
		l.T.Errorf("eviction: %v, want a conflict", err)
	}
	l.Delete(l.secret("using"), outside)
	l.Gone(replaying)
	l.Gone(pods)
	l.Gone(outside)
	l.Gone(legacy)
	l.Gone(ending)
	l.Gone(l.configMap("used"))
}

// connector takes an IotConnector through its life.
func (l land) connector() {
	l.T.Helper()
	c := &iotv1alpha1.IotConnector{ObjectMeta: l.named("clinic")}
	c.Labels = map[string]string{"Tier": "AlwaysUpdate"} // What a release selects unless it says otherwise.
	c.Spec.Containers = []iotv1alpha1.Container{{Type: "Normalization", Image: "none"}}
	release := &iotv1alpha1.IotConnectorRelease{ObjectMeta: l.named("release")}
	release.Spec.Version = iotv1alpha1.Version1
	l.Create(c)
	l.upgraded(c, iotv1alpha1.Version0)
	l.Create(release)
	l.upgraded(c, iotv1alpha1.Version1)
	testenv.Eventually(l.T, func() error {
		err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(release), release)
		if err == nil && release.Status.UpToDate != 1 {
			err = errors.New("the release is not done")
		}
		return err
	})
	l.Delete(c)
	l.Gone(c)
}

// upgraded waits until all that a version is made of is available.
func (l land) upgraded(c *iotv1alpha1.IotConnector, version int32) {
	l.T.Helper()
	testenv.Eventually(l.T, func() error {
		if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		if c.Status.Version == nil || *c.Status.Version != version ||
			!meta.IsStatusConditionTrue(c.Status.Conditions, "Ready") {
			return fmt.Errorf("not Ready at version %d: %+v", version, c.Status.Conditions)
		}
		return nil
	})
}

// isBound returns nil when Usages have taken note of what uses something.
func (l land) isBound(usages ...interface {
	client.Object
	UsageStatus() *sharedv1alpha1.UsageStatus
},
) error {
	for _, u := range usages {
		if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if u.UsageStatus().Using == nil {
			return fmt.Errorf("%s is not bound", u.GetName())
		}
	}
	return nil
}

// audit reads what the API server has written down of the operator.
func (l land) audit() []asked {
	l.T.Helper()
	log, err := os.ReadFile(filepath.Join(testenv.Cluster(l.T).DataDir(), "logs", localcluster.APIServer+".log"))
	if err != nil {
		l.T.Fatal(err)
	}
	var requests []asked
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var a asked
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"kind":"Event"`)) && json.Unmarshal(lines.Bytes(), &a) == nil {
			requests = append(requests, a)
		}
	}
	return requests
}

// granted is one rule of one of the operator's roles, and the user that has the role.
type granted struct {
	role, user, namespace string
	rbacv1.PolicyRule
}

// String returns the rule for people.
func (g granted) String() string {
	return fmt.Sprintf("%s: %v of %v in groups %q, names %v", g.role, g.Verbs, g.Resources, g.APIGroups, g.ResourceNames)
}

// isForUsers reports whether a ClusterRole is for users, and not for an account of the operator.
func isForUsers(role *rbacv1.ClusterRole) bool {
	return role.Labels["rbac.authorization.k8s.io/aggregate-to-admin"] == "true"
}

// granted returns all that the operator may do.
func (l land) granted() []granted {
	l.T.Helper()
	var all []granted
	mine := client.MatchingLabels{"app.kubernetes.io/part-of": "kinship"}
	var cluster rbacv1.ClusterRoleList
	if err := l.C.List(l.T.Context(), &cluster, mine); err != nil {
		l.T.Fatal(err)
	}
	for _, role := range cluster.Items {
		if isForUsers(&role) {
			continue
		}
		for _, rule := range role.Rules {
			all = append(all, granted{role.Name, userOf(role.Name), "", rule})
		}
	}
	var roles rbacv1.RoleList
	if err := l.C.List(l.T.Context(), &roles, mine); err != nil {
		l.T.Fatal(err)
	}
	for _, role := range roles.Items {
		for _, rule := range role.Rules {
			all = append(all, granted{role.Namespace + "/" + role.Name, userOf(role.Name), role.Namespace, rule})
		}
	}
	if len(all) == 0 {
		l.T.Fatal("the operator has no rights")
	}
	return all
}

// userOf returns the user who has a role, as whom an account of the same name acts. The role
// of those who read the metrics is a person's.
func userOf(role string) string {
	if role == rights.MetricsReader {
		return ""
	}
	return "system:serviceaccount:" + options.Namespace + ":" + role
}

// unused returns what of a rule none of the requests needed.
func (g granted) unused(requests []asked) []string {
	var unused []string
	for _, group := range g.APIGroups {
		for _, resource := range g.Resources {
			if group == "apiextensions.crossplane.io" && strings.HasPrefix(resource, "clusterusages") {
				continue // There is no such kind.
			}
			for _, verb := range g.Verbs {
				if !slices.ContainsFunc(requests, func(a asked) bool { return g.covers(a, group, resource, verb) }) {
					what := resource
					if group != "" {
						what += "." + group
					}
					unused = append(unused, verb+" "+what)
				}
			}
		}
	}
	return unused
}

// covers reports whether a request needed a rule.
func (g granted) covers(a asked, group, resource, verb string) bool {
	// A watch begins with what is there; older API servers are asked for a list.
	return (g.user == "" || a.User.Username == g.user) && (a.Verb == verb || verb == "list" && a.Verb == "watch") &&
		(group == "*" || group == a.ObjectRef.APIGroup) && (resource == "*" || resource == a.resource()) &&
		(g.namespace == "" || g.namespace == a.ObjectRef.Namespace) &&
		(len(g.ResourceNames) == 0 || slices.Contains(g.ResourceNames, a.ObjectRef.Name))
}
