package azure

import (
	"context"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Names of what the pack writes on objects.
const (
	// Prefix of the pack's finalizers, labels, annotations and field owners.
	Prefix = "azure.kinship.dev"
	// finalizer keeps an object until its resource is deleted.
	finalizer = Prefix + "/resource"
	// enabledLabel is on what Enable writes.
	enabledLabel = Prefix + "/enabled"
	// guard keeps an object while another object refers to it.
	guard = Prefix + "/in-use"
)

// SecretCredential is the name of a credential for Options.Credential: objects without
// spec.credentialsRef are refused.
const SecretCredential = "secret"

// Options are the options of the pack.
type Options struct {
	// Endpoint is the address of ARM. Empty means Azure's public cloud.
	Endpoint string
	// Credential names the credential of objects without spec.credentialsRef: SecretCredential,
	// azure.DefaultCredential or azure.NoCredential. Empty means SecretCredential.
	Credential string
	// Subscription is where subscription-scoped resources without ownerRef are, for objects without
	// spec.credentialsRef.
	Subscription string
	// Catalogue has the kinds; nil means the embedded one.
	Catalogue *catalogue.Catalogue
	// Submission is how resources are sent. Empty means ByPut.
	Submission Submission
	// Workers is the number of concurrent passes over objects of one kind in one namespace. All kinds
	// together have three times as many. Zero means 16.
	Workers int
	// Resync is the interval in which resources are compared with their specs. Zero means ten
	// minutes, negative never.
	Resync time.Duration
}

// kinds returns the catalogue.
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

// Pack returns the pack for the list in internal/app.
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
		Objects: func(in pack.Installation) []client.Object { return objects(options, in) },
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return setup(ctx, mgr, env, options)
		},
		Traces: traces, Enabled: enabledObjects,
		Trim: func(cached any) {
			if obj, ok := cached.(*external.Unstructured); ok {
				obj.ShareNames()
			}
		},
	}
}

// rules returns the RBAC rules of the pack, beside the rules for kinds that are enabled (RulesOf).
func rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			Verbs: []string{"list", "watch"},
		},
	}
}

// traces finds the finalizers of the pack, on Secrets and on the kinds that are enabled. The resources
// themselves stay in Azure.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	var all pack.Traces
	for _, k := range r.Watcher.Served() {
		note := "what they stand for stays in Azure"
		if k.Kind == "Secret" && k.Resource.Group == "" {
			note = ""
		} else if !strings.HasSuffix(k.Resource.Group, catalogue.GroupSuffix) {
			continue
		}
		list, err := r.List(ctx, k.Resource, metav1.ListOptions{})
		if err != nil {
			return all, err
		}
		for i := range list {
			ours := slices.DeleteFunc(slices.Clone(list[i].Finalizers), func(f string) bool {
				return !strings.HasPrefix(f, Prefix+"/")
			})
			if len(ours) > 0 {
				all.Found = append(all.Found, pack.Trace{
					Resource: k.Resource, Object: &list[i], Finalizers: ours, Note: note,
				})
			}
		}
	}
	return all, nil
}
