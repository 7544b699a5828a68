package azure

import (
	"context"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Names that the pack writes on objects.
const (
	// Prefix of the pack's finalizers, labels, annotations and field owners.
	Prefix = "azure.kinship.dev"
	// finalizer keeps an object until its resource is deleted in Azure.
	finalizer = Prefix + "/resource"
	// enabledLabel is the label of each object that [Enable] writes.
	enabledLabel = Prefix + "/enabled"
	// guard is the finalizer that keeps an object while another object refers to it.
	guard = Prefix + "/in-use"
)

// SecretCredential is a value of Options.Credential: the pack refuses objects without
// spec.credentialsRef.
const SecretCredential = "secret"

// Options are the options of the pack.
type Options struct {
	// Endpoint is the address of ARM. Empty means Azure's public cloud.
	Endpoint string
	// Credential names the credential of objects without spec.credentialsRef: [SecretCredential],
	// azure.DefaultCredential or azure.NoCredential. Empty means [SecretCredential].
	Credential string
	// Subscription is the subscription of subscription-scoped resources without spec.ownerRef, for
	// objects without spec.credentialsRef.
	Subscription string
	// Catalogue has the kinds; nil means catalogue.Embedded().
	Catalogue *catalogue.Catalogue
	// Submission is the way in which resources are sent. Empty means [ByPut].
	Submission Submission
	// Workers is the number of concurrent passes over objects of one kind in one namespace. All
	// kinds together have three times as many. Zero means 16.
	Workers int
	// Resync is the interval at which the operator compares resources with their specs. Zero means
	// 10 minutes, negative never.
	Resync time.Duration
}

// kinds returns Options.Catalogue, or catalogue.Embedded().
func (o Options) kinds() *catalogue.Catalogue {
	if o.Catalogue != nil {
		return o.Catalogue
	}
	all, err := catalogue.Embedded()
	if err != nil { // A test reads the embedded file.
		panic(err)
	}
	return all
}

// Pack returns the pack for options.Packs.
func Pack(options Options) pack.Pack {
	return pack.Pack{
		Name:        "azure",
		AddToScheme: func(*runtime.Scheme) error { return nil },
		Relations:   func() []relation.Relation { return nil },
		Discover:    func(served schema.GroupVersionKind) []relation.Relation { return relationsOf(options, served) },
		Finalizers: []lineage.Finalizer{
			{Name: finalizer, By: "the operator", When: "its resource is gone"},
			{Name: guard, By: "the operator", When: "no object refers to it any more"},
		},
		Rules:   rules,
		Groups:  func() []string { return groups(options) },
		Objects: func(in pack.Installation) []client.Object { return objects(options, in) },
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return setup(ctx, mgr, env, options)
		},
		Traces: traces, Enabled: enabledObjects, Additions: func(
			ctx context.Context, c client.Client, account rbacv1.Subject, namespaces []string,
		) ([]pack.Addition, error) {
			return additions(ctx, c, options.kinds(), Grant{Account: account, Namespaces: namespaces})
		},
		Trim: func(cached any) {
			if obj, ok := cached.(*external.Unstructured); ok {
				obj.ShareNames()
			}
		},
	}
}

// rules returns the RBAC rules of the pack, without rulesOf the enabled kinds.
func rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			Verbs: []string{"list", "watch"},
		},
	}
}

// traces finds the finalizers of the pack, on Secrets and on objects of the enabled kinds.
// pack.Traces does not concern the resources themselves, which stay in Azure.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	var all pack.Traces
	for _, k := range r.Watcher.Served() {
		note := "what they stand for stays in Azure"
		if k.Kind == "Secret" && k.Resource.Group == "" {
			note = ""
		} else if !strings.HasSuffix(k.Resource.Group, catalogue.GroupSuffix) {
			continue
		}
		found, err := r.Finalizers(ctx, k.Resource, note, func(f string) bool { return strings.HasPrefix(f, Prefix+"/") })
		if err != nil {
			return all, err
		}
		all.Found = append(all.Found, found...)
	}
	return all, nil
}
