package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// partOfLabel and installManager mark the objects that [Install] applies: by a label, and as field
// owner.
const (
	partOfLabel    = "app.kubernetes.io/part-of"
	installManager = client.FieldOwner("kinship-install")
)

// ownDefinitions are the CustomResourceDefinitions that [Install] applies with every pack.
var ownDefinitions = []string{"referencegrants.kinship.dev"}

// Install applies everything that Options.Packs need: CustomResourceDefinitions, rights, webhooks
// and policies. Install changes nothing if an object without the label part-of=kinship has the name
// of such an object, unless Options.Adopt is set.
func Install(ctx context.Context, o Options) error {
	o, err := o.prepare(ctx)
	if err != nil {
		return err
	}
	return install(ctx, o, nil)
}

// install is [Install] for a caller that has called Options.prepare, and has found faults already,
// such as an address in use.
func install(ctx context.Context, o Options, found error) error {
	c, err := newClient(o, o.Config)
	if err != nil {
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
	if err := checkBefore(ctx, o, c, objects, found); err != nil {
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

// checkBefore returns all reasons why objects can't be installed as one error, with the faults that
// the caller has found. checkBefore writes nothing.
func checkBefore(ctx context.Context, o Options, c client.Client, objects []client.Object, found error) error {
	errs := []error{
		found, checkNamespacesExist(ctx, o, c), checkUpgrade(ctx, o, c, definitionsOf(objects)), checkInstaller(ctx, c),
		checkService(ctx, c, objects), checkSuperseded(ctx, o, c, objects), checkRivals(ctx, o, c),
	}
	rehearsed := objects
	if !o.Adopt {
		theirs, err := foreign(ctx, c, objects)
		if err != nil {
			return fmt.Errorf("nothing was installed: %w", err)
		}
		errs = append(errs, foreignError(theirs))
		rehearsed = others(objects, theirs)
	}
	errs = append(errs, rehearse(ctx, c, rehearsed))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nothing was installed: %w", err)
	}
	return nil
}

// settleBeside calls eachAccount and retireIdle for installed packs that Options.Packs leaves out.
func settleBeside(ctx context.Context, o Options, c client.Client) error {
	beside, err := installedBeside(ctx, o, c)
	if err != nil {
		return err
	}
	if err := eachAccount(ctx, o, c, beside); err != nil {
		return err
	}
	return retireIdle(ctx, o, c, beside)
}

// recordInstallation writes record.Installed: a running operator of another release then accepts
// the guards that [Install] is going to apply.
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
	return compareRecords(ctx, o, c, chosen, mutating, true)
}

// applyAll applies objects in order. applyAll writes the secret path of the existing
// certificate.Bundle into webhook configurations, so that the API server still reaches a running
// operator.
func applyAll(ctx context.Context, o Options, c client.WithWatch, objects []client.Object) error {
	path := ""
	for _, obj := range objects {
		if webhooksOf(obj) != nil && path == "" {
			bundle, err := newCertificates(o, c, nil).Ensure(ctx)
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

// Objects returns the objects that [Install] applies, in order.
func Objects(o Options, mutatingPolicies bool) ([]client.Object, error) {
	objects, err := definitions(o)
	if err != nil {
		return nil, err
	}
	rest, err := besideDefinitions(o, mutatingPolicies)
	if err != nil {
		return nil, err
	}
	return append(objects, rest...), nil
}

// definitions returns the CustomResourceDefinitions of the chosen packs. definitions parses 800 KiB
// of YAML for all packs, so no caller calls definitions per Enforcement.
func definitions(o Options) ([]client.Object, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(ownDefinitions)
	for _, p := range chosen {
		names = append(names, p.Definitions...)
	}
	objects := make([]client.Object, 0, len(names))
	for _, name := range names {
		definition, err := definition(name)
		if err != nil {
			return nil, err
		}
		label(definition)
		if o.Version != "" {
			definition.GetLabels()[versionLabel] = versionMark(o.Version)
		}
		objects = append(objects, definition)
	}
	return objects, nil
}

// besideDefinitions returns the objects that [Install] applies after the CustomResourceDefinitions:
// ServiceAccounts, rights, webhooks and policies.
func besideDefinitions(o Options, mutatingPolicies bool) ([]client.Object, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	objects := account(chosen, o.Namespaces)
	for _, role := range userRoles(chosen) {
		objects = append(objects, role)
	}
	for _, p := range chosen {
		objects = append(objects, p.Objects(o.installation(mutatingPolicies))...)
	}
	for _, obj := range objects {
		label(obj)
	}
	return objects, nil
}

// definitionsOf returns the CustomResourceDefinitions among objects.
func definitionsOf(objects []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(obj client.Object) bool {
		_, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		return !ok
	})
}

// label adds the label app.kubernetes.io/part-of=kinship to an object.
func label(obj client.Object) {
	labels := map[string]string{}
	maps.Copy(labels, obj.GetLabels())
	labels[partOfLabel] = partOf
	obj.SetLabels(labels)
}

// installer returns a function that creates a deleted guard again, or nil without --install. The
// function acts as the user in Options.Config, because the operator's own ServiceAccounts may not
// create guards.
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

// definition reads a generated CustomResourceDefinition from config.Definitions.
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

// account returns the namespace kinship-system, the ServiceAccounts and their rights. Each pack has
// a ServiceAccount and a ClusterRole of the same name. So no pack has the rights of another pack,
// and a pack that is off has no rights. With --namespaces, the ClusterRole has the rights to
// cluster-scoped resources, and a Role of the same name in each namespace has the other rights.
func account(chosen []pack.Pack, namespaces []string) []client.Object {
	subjects := func(name string) []rbacv1.Subject { return []rbacv1.Subject{subjectOf(name)} }
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}, accountObject(Account),
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
		// Kubernetes keeps Events about objects without a namespace in namespace default.
		objects = append(objects, inNamespaces(Account, []rbacv1.PolicyRule{eventRule}, subjects(Account),
			[]string{metav1.NamespaceDefault})...)
	}
	objects = append(objects, &rbacv1.ClusterRole{ // For the account of a metrics scraper, which the administrator binds.
		ObjectMeta: metav1.ObjectMeta{Name: MetricsReader},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{metricsPath}, Verbs: []string{"get"}}},
	})
	for _, p := range chosen {
		objects = append(objects, accountObject(AccountOf(p.Name)))
		role(AccountOf(p.Name), p.Rules(), namespaces...)
		objects = append(objects, kindRole(p, subjects(AccountOf(p.Name)), namespaces)...)
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

// ownRules are the rights of [Account] in namespace kinship-system: to the certificate's Secret, to
// Leases, and to tokens of the packs' ServiceAccounts. ownRules include the tokens of packs that
// are off, because another operator with other packs may share the Role. With --namespaces, the
// Role needs eventRule too, for Events about Leases.
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
			Verbs: []string{"get", "watch", "update"},
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

// eventRule is the right to create and patch Events.
var eventRule = rbacv1.PolicyRule{
	APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"},
}

// engineRules are the rights that the engine needs for every pack: to create SubjectAccessReviews,
// to watch CustomResourceDefinitions and APIServices, to record Events, and to write the packs'
// webhook configurations, by name.
func engineRules(chosen []pack.Pack) []rbacv1.PolicyRule {
	var webhooks []string
	for _, p := range chosen {
		for _, obj := range p.Objects(pack.Installation{}) {
			if name := obj.GetName(); webhooksOf(obj) != nil && !slices.Contains(webhooks, name) {
				webhooks = append(webhooks, name)
			}
		}
	}
	watch := []string{"list", "watch"}
	rules := []rbacv1.PolicyRule{
		{
			APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"},
			Verbs: []string{"create"},
		},
		{ // Reviews the tokens of metrics scrapers.
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
		{ // Watches for the deletion of a guard.
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{
				"validatingadmissionpolicies", "validatingadmissionpolicybindings",
				"mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
			},
			Verbs: []string{"get", "list", "watch"},
		},
	}
	if len(webhooks) == 0 { // A rule without names would give the right to all configurations.
		return rules
	}
	return slices.Concat(rules, []rbacv1.PolicyRule{{
		APIGroups: []string{"admissionregistration.k8s.io"}, ResourceNames: webhooks,
		Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
		Verbs:     []string{"get", "patch"},
	}})
}

// foreign returns the objects that exist without the label app.kubernetes.io/part-of=kinship.
func foreign(ctx context.Context, c client.Client, objects []client.Object) ([]client.Object, error) {
	var all []client.Object
	for _, obj := range objects {
		if obj.GetNamespace() == Namespace || obj.GetName() == Namespace {
			continue // An administrator may have made the operator's namespace for the operator.
		}
		live, err := read(ctx, c, obj)
		if err != nil {
			return nil, err
		}
		if live != nil && !isOurs(live) {
			all = append(all, obj)
		}
	}
	return all, nil
}

// foreignError returns an error with the names of foreign objects, or nil if objects is empty.
func foreignError(objects []client.Object) error {
	if len(objects) == 0 {
		return nil
	}
	names := make([]string, 0, len(objects))
	for _, obj := range objects {
		kind := reflect.TypeOf(obj).Elem().Name()
		names = append(names, kind+" "+strings.TrimPrefix(client.ObjectKeyFromObject(obj).String(), "/"))
	}
	return fmt.Errorf("%s exist already, and kinship did not install them; remove them, or take them over with --adopt",
		strings.Join(names, ", "))
}

// read returns an object from the API server, or nil if the object does not exist.
func read(ctx context.Context, c client.Client, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("identify %s: %w", obj.GetName(), err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	err = c.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if apierrors.IsNotFound(err) {
		return nil, nil // Absent is an answer here, not a failure.
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	return live, nil
}

// apply applies an object by server-side apply, and keeps the fields that other field managers set.
func apply(ctx context.Context, c client.Client, obj client.Object, options ...writeOption) error {
	u, err := pack.Manifest(c.Scheme(), obj)
	if err != nil {
		return err
	}
	how := []client.ApplyOption{installManager, client.ForceOwnership}
	for _, option := range options {
		how = append(how, option)
	}
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), how...)
	if apierrors.IsInvalid(err) && webhooksOf(obj) != nil {
		// A webhook has clientConfig.url or clientConfig.service. Server-side apply would leave
		// both after a change to --webhook-host.
		err = replace(ctx, c, u, options)
	}
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", u.GetKind(), obj.GetName(), err)
	}
	return nil
}

// replace updates a whole object, and drops the fields of other field managers.
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

// awaitDefinitions waits until each CustomResourceDefinition among objects is Established.
func awaitDefinitions(ctx context.Context, c client.Client, objects []client.Object) error {
	for _, obj := range definitionsOf(objects) {
		if err := watch.AwaitDefinition(ctx, c, obj.GetName(), ""); err != nil {
			return err
		}
	}
	return nil
}

// servesMutatingPolicies reports whether the API server has the kind MutatingAdmissionPolicy
// (KEP-3962; on by default since 1.36).
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
