package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/pack"
)

// Labels that say whose an object is.
const (
	partOfLabel    = "app.kubernetes.io/part-of"
	installManager = client.FieldOwner("kinship-install")
)

// ownDefinitions are installed with whatever pack.
var ownDefinitions = []string{"referencegrants.kinship.dev"}

// Install applies everything that the chosen packs need: definitions, rights,
// webhooks and policies. It touches nothing if one of the objects belongs to
// somebody else's release, unless it may adopt them.
func Install(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if o, err = o.withPort(ctx); err != nil {
		return err
	}
	c, err := newClient(o, o.Config)
	if err != nil {
		return err
	}
	if err := checkNamespacesExist(ctx, o, c); err != nil {
		return err
	}
	mutating, err := servesMutatingPolicies(o)
	if err != nil {
		return err
	}
	objects, err := Objects(o, mutating)
	if err != nil {
		return err
	}
	if err := checkBefore(ctx, o, c, objects); err != nil {
		return err
	}
	if err := recordInstallation(ctx, o, c, objects, mutating); err != nil {
		return err
	}
	if err := applyAll(ctx, o, c, objects); err != nil {
		return err
	}
	if err := awaitDefinitions(ctx, c, objects); err != nil {
		return err
	}
	if err := supersede(ctx, o, c, objects); err != nil {
		return err
	}
	return settleBeside(ctx, o, c)
}

// checkBefore looks for what keeps objects from being installed. It writes nothing.
func checkBefore(ctx context.Context, o Options, c client.Client, objects []client.Object) error {
	if err := checkUpgrade(ctx, o, c, definitionsOf(objects)); err != nil {
		return err
	}
	if !o.Adopt {
		if err := foreign(ctx, c, objects); err != nil {
			return err
		}
	}
	if err := rehearse(ctx, c, objects); err != nil {
		return fmt.Errorf("nothing was installed: %w", err)
	}
	return nil
}

// settleBeside tells of packs that are installed and that this installation does not have, and
// leaves rights of theirs to their own accounts alone.
func settleBeside(ctx context.Context, o Options, c client.Client) error {
	beside, err := installedBeside(ctx, o, c)
	if err != nil {
		return err
	}
	if err := eachAccount(ctx, o, c, beside); err != nil {
		return err
	}
	for _, name := range beside { // Its webhooks refuse as long as nobody answers, which is what they are for.
		o.Log.Info("A pack is installed that this operator does not run: run it too, or kinship uninstall --packs it",
			"pack", name)
	}
	return nil
}

// recordInstallation records which guards are going to be installed, so that an operator of
// another release that still runs takes them for what they are.
func recordInstallation(ctx context.Context, o Options, c client.Client, objects []client.Object, mutating bool) error {
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if _, ok := obj.(*corev1.Namespace); !ok {
			continue
		}
		if err := apply(ctx, c, obj); err != nil {
			return err
		}
	}
	return examine(ctx, o, c, chosen, mutating, true)
}

// applyAll applies objects in order. Webhooks get their secret path at once, which
// the certificate's Secret has from then on, so that those of an operator that
// still runs stay in reach.
func applyAll(ctx context.Context, o Options, c client.WithWatch, objects []client.Object) error {
	path := ""
	for _, obj := range objects {
		if webhooksOf(obj) != nil && path == "" {
			certificates, err := newCertificates(o, c, nil)
			if err != nil {
				return err
			}
			bundle, err := certificates.Ensure(ctx)
			if err != nil {
				return fmt.Errorf("make the webhooks' certificate: %w", err)
			}
			path = bundle.Path
		}
		if err := hide(obj, obj.DeepCopyObject().(client.Object), path); err != nil {
			return err
		}
		if err := apply(ctx, c, obj); err != nil {
			return err
		}
		if err := rectify(ctx, c, obj); err != nil {
			return err
		}
	}
	return nil
}

// Objects returns what Install applies, in the order in which it does.
func Objects(o Options, mutatingPolicies bool) ([]client.Object, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	names := ownDefinitions
	for _, p := range chosen {
		names = append(names, p.Definitions...)
	}
	for _, name := range names {
		definition, err := definition(name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, definition)
	}
	objects = append(objects, account(chosen, o.Namespaces)...)
	for _, p := range chosen {
		objects = append(objects, p.Objects(o.installation(mutatingPolicies))...)
	}
	for _, obj := range objects {
		label(obj)
	}
	if o.Version != "" {
		for _, obj := range definitionsOf(objects) {
			obj.GetLabels()[versionLabel] = versionMark(o.Version)
		}
	}
	return objects, nil
}

// definitionsOf returns those of the objects that are CustomResourceDefinitions.
func definitionsOf(objects []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(obj client.Object) bool {
		_, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		return !ok
	})
}

// label says of an object that it is ours.
func label(obj client.Object) {
	labels := map[string]string{}
	maps.Copy(labels, obj.GetLabels())
	labels[partOfLabel] = partOf
	obj.SetLabels(labels)
}

// installer returns what makes an object of the installation anew that somebody has
// deleted, or nil if the operator does not install: it has the rights of whoever
// started the operator, as its own account may not create any.
func (o Options) installer() func(context.Context, client.Object) error {
	if !o.Install {
		return nil
	}
	return func(ctx context.Context, obj client.Object) error {
		c, err := newClient(o, o.Config)
		if err != nil {
			return err
		}
		obj = obj.DeepCopyObject().(client.Object)
		label(obj)
		return applyAll(ctx, o, c, []client.Object{obj})
	}
}

// definition reads one of the generated CustomResourceDefinitions.
func definition(name string) (client.Object, error) {
	plural, group, _ := strings.Cut(name, ".")
	text, err := config.Definitions.ReadFile("crd/" + group + "_" + plural + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("read definition %s: %w", name, err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("read definition %s: %w", name, err)
	}
	return &crd, nil
}

// account returns the operator's namespace, accounts and rights: an account and a
// ClusterRole of the same name for each pack, so that a pack that is off asks for nothing,
// and none has the rights of another. With namespaces the ClusterRole has what is in no
// namespace, and a Role of the same name in each namespace has all else.
func account(chosen []pack.Pack, namespaces []string) []client.Object {
	serviceAccount := func(name string) client.Object {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	}
	subjects := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: Namespace, Name: name}}
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}, serviceAccount(Account),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Account}, Rules: ownRules(namespaces)},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Account}, Subjects: subjects(Account),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: Account},
		},
	}
	role := func(name string, rules []rbacv1.PolicyRule, namespaces ...string) {
		if len(namespaces) > 0 {
			var inside []rbacv1.PolicyRule
			rules, inside = scope(rules)
			objects = append(objects, inNamespaces(name, inside, subjects(name), namespaces)...)
		}
		if len(rules) == 0 {
			return
		}
		objects = append(objects,
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects(name),
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			})
	}
	role(Account, engineRules(chosen), namespaces...)
	if len(namespaces) > 0 && !slices.Contains(namespaces, metav1.NamespaceDefault) {
		// Events of objects without a namespace are there.
		objects = append(objects, inNamespaces(Account, []rbacv1.PolicyRule{eventRule}, subjects(Account),
			[]string{metav1.NamespaceDefault})...)
	}
	objects = append(objects, &rbacv1.ClusterRole{ // For whoever scrapes: nobody has it yet.
		ObjectMeta: metav1.ObjectMeta{Name: MetricsReader},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{metricsPath}, Verbs: []string{"get"}}},
	})
	for _, p := range chosen {
		objects = append(objects, serviceAccount(AccountOf(p.Name)))
		role(AccountOf(p.Name), p.Rules(), namespaces...)
	}
	return objects
}

// inNamespaces returns a Role and its RoleBinding for each namespace.
func inNamespaces(
	name string, rules []rbacv1.PolicyRule, subjects []rbacv1.Subject, namespaces []string,
) []client.Object {
	if len(rules) == 0 {
		return nil
	}
	objects := make([]client.Object, 0, 2*len(namespaces))
	for _, namespace := range namespaces {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		objects = append(objects, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		})
	}
	return objects
}

// ownRules are the rights in the operator's own namespace: its certificate, its
// lease, and tokens of the packs' accounts. Those of packs that are off are among them, since
// an operator that runs other packs shares the role. With namespaces the events of Leases need
// a right of their own.
func ownRules(namespaces []string) []rbacv1.PolicyRule {
	accounts := make([]string, 0, len(PackNames()))
	for _, name := range PackNames() {
		accounts = append(accounts, AccountOf(name))
	}
	rules := []rbacv1.PolicyRule{
		{
			APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: accounts,
			Verbs: []string{"create"},
		},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{certificateSecret},
			Verbs: []string{"get", "list", "watch", "update"},
		},
		{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			Verbs: []string{"create", "get", "list", "update", "delete"},
		},
	}
	if len(namespaces) > 0 {
		rules = append(rules, eventRule)
	}
	return rules
}

// eventRule is the right to tell of objects.
var eventRule = rbacv1.PolicyRule{
	APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"},
}

// engineRules are the rights that the engine needs with whatever pack: to ask
// who may do what, to follow what kinds there are, to tell, and to keep the
// webhooks' configurations, by name.
func engineRules(chosen []pack.Pack) []rbacv1.PolicyRule {
	var webhooks []string
	for _, p := range chosen {
		for _, obj := range p.Objects(pack.Installation{}) {
			if webhooksOf(obj) != nil {
				webhooks = append(webhooks, obj.GetName())
			}
		}
	}
	watch := []string{"list", "watch"}
	return []rbacv1.PolicyRule{
		{
			APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"},
			Verbs: []string{"create"},
		},
		{ // Of those who read the metrics.
			APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"},
		},
		eventRule,
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: watch},
		{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: watch},
		{
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
			Verbs:     watch,
		},
		{
			APIGroups: []string{"admissionregistration.k8s.io"}, ResourceNames: webhooks,
			Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
			Verbs:     []string{"get", "patch"},
		},
		{ // To notice that one of them is deleted.
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{
				"validatingadmissionpolicies", "validatingadmissionpolicybindings",
				"mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
			},
			Verbs: []string{"get", "list", "watch"},
		},
	}
}

// foreign returns an error that names every object that somebody else owns.
func foreign(ctx context.Context, c client.Client, objects []client.Object) error {
	var names []string
	for _, obj := range objects {
		if obj.GetNamespace() != "" || obj.GetName() == Namespace {
			continue // Our namespace may have been made for us.
		}
		live, err := read(ctx, c, obj)
		if err != nil {
			return err
		}
		if live != nil && live.GetLabels()[partOfLabel] != partOf {
			names = append(names, fmt.Sprintf("%s %s", live.GetKind(), live.GetName()))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was installed: %s exist already and belong to somebody else; "+
		"remove them, or take them over with --adopt", strings.Join(names, ", "))
}

// read returns an object as it is in the cluster, or nil.
func read(ctx context.Context, c client.Client, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("identify %s: %w", obj.GetName(), err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	err = c.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absent is an answer here, not a failure
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	return live, nil
}

// apply makes an object what it should be, leaving alone what others set.
func apply(ctx context.Context, c client.Client, obj client.Object, options ...writeOption) error {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return fmt.Errorf("identify %s: %w", obj.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("convert %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	how := []client.ApplyOption{installManager, client.ForceOwnership}
	for _, option := range options {
		how = append(how, option)
	}
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), how...)
	if apierrors.IsInvalid(err) && webhooksOf(obj) != nil {
		// A webhook is reached by URL or by Service. Where the one was and the other
		// is to be, applying would end with both.
		err = replace(ctx, c, u, options)
	}
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	return nil
}

// replace writes a whole object over the one that is there.
func replace(ctx context.Context, c client.Client, u *unstructured.Unstructured, options []writeOption) error {
	live := u.DeepCopy()
	if err := c.Get(ctx, client.ObjectKeyFromObject(u), live); err != nil {
		return err
	}
	u.SetResourceVersion(live.GetResourceVersion())
	how := make([]client.UpdateOption, 0, len(options))
	for _, option := range options {
		how = append(how, option)
	}
	return c.Update(ctx, u, how...)
}

// awaitDefinitions waits until the API server serves what was installed.
func awaitDefinitions(ctx context.Context, c client.Client, objects []client.Object) error {
	for _, obj := range definitionsOf(objects) {
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				var live apiextensionsv1.CustomResourceDefinition
				if err := c.Get(ctx, client.ObjectKeyFromObject(obj), &live); err != nil {
					return false, err
				}
				for _, condition := range live.Status.Conditions {
					if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
						return true, nil
					}
				}
				return false, nil
			})
		if err != nil {
			return fmt.Errorf("wait for definition %s to be established: %w", obj.GetName(), err)
		}
	}
	return nil
}

// servesMutatingPolicies reports whether the API server can change requests by
// policy (KEP-3962; on by default since 1.36).
func servesMutatingPolicies(o Options) (bool, error) {
	disc, err := discovery.NewDiscoveryClientForConfig(o.Config)
	if err != nil {
		return false, fmt.Errorf("make discovery client: %w", err)
	}
	list, err := disc.ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		return false, fmt.Errorf("read what the API server can do: %w", err)
	}
	for _, r := range list.APIResources {
		if r.Kind == "MutatingAdmissionPolicy" {
			return true, nil
		}
	}
	return false, nil
}

var errNotInstalled = errors.New("the definitions of the packs are not installed: run with --install")
