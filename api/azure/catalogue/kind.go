package catalogue

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope is a set of the places where resources of a type may be.
type Scope uint8

const (
	// ResourceGroupScope is inside of a resource group.
	ResourceGroupScope Scope = 1 << iota
	// SubscriptionScope is inside of a subscription.
	SubscriptionScope
	// ManagementGroupScope is inside of a management group.
	ManagementGroupScope
	// TenantScope is below no other resource.
	TenantScope
	// ExtensionScope is inside of any other resource.
	ExtensionScope
	// UnknownScope is for types of which the schema doesn't tell the scope.
	UnknownScope

	scopeEnd
)

var scopeNames = []string{"resourceGroup", "subscription", "managementGroup", "tenant", "extension", "unknown"}

// Has tells whether s contains all of other.
func (s Scope) Has(other Scope) bool { return s&other == other }

// String returns the names of the scopes, such as "subscription,managementGroup".
func (s Scope) String() string {
	var names []string
	for i, name := range scopeNames {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Kind is an ARM type in one api-version, and its kind in Kubernetes.
type Kind struct {
	// Group, Version and Kind in Kubernetes, such as microsoft.network.infra.azure.com, v20200301 and
	// Subnet. Plural is the name of the resource in the API server.
	Group, Version, Kind, Plural string
	// Type is the ARM type, such as Microsoft.Network/virtualNetworks/subnets.
	Type string
	// APIVersion is the ARM api-version, such as 2020-03-01.
	APIVersion string
	// Scopes where resources of the type may be.
	Scopes Scope
	// Owner is the ARM type of the owner, or of an owner of which ownerRef does not name the kind if the Kind Extends.
	// Owner is empty if the owner is a subscription, a management group, nothing, or any resource: see Scopes.
	Owner string
	// SecretFields are the fields that hold SecretKeys, in the order of their paths. In a path, [*] is each item of a
	// list, and .* each key of a map: spec.rules[*].password.
	SecretFields []string
	// GUIDName tells that the name of a resource is a GUID.
	GUIDName bool
	// Default tells that the kind is enabled in this version unless the user names another.
	Default bool
	// Source is the schema that the Kind was made from.
	Source Source
	// SchemaPath is where the Source defines the type, such as
	// resourceDefinitions/virtualNetworks_subnets.
	SchemaPath string

	load func() (*Definition, error)
}

// Source is a schema file.
type Source struct {
	// Path of the file, such as schemas/2020-03-01/Microsoft.Network.json.
	Path string
	// Hash is the SHA-256 of the file in hexadecimal digits.
	Hash string
}

// Refusal is an ARM type that armgen made no Kind of.
type Refusal struct {
	Type, APIVersion string
	// Reason tells also what to write in the config of armgen.
	Reason string
}

// Extends reports whether a resource of the Kind may be in any resource, as a role assignment may. The owner of such a
// resource may be of any kind, which ownerRef names.
func (k *Kind) Extends() bool {
	return k.Scopes.Has(ExtensionScope) && !isInType(k.Type)
}

// GroupVersionKind in Kubernetes.
func (k *Kind) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// GroupVersionResource in Kubernetes.
func (k *Kind) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Plural}
}

// Definition decodes the shape of the body. The first call for a group decodes the whole group.
func (k *Kind) Definition() (*Definition, error) {
	if k.load == nil {
		return nil, fmt.Errorf("%s in %s has no definition", k.Type, k.APIVersion)
	}
	definition, err := k.load()
	if err != nil {
		return nil, fmt.Errorf("decoding %s in %s: %w", k.Type, k.APIVersion, err)
	}
	return definition, nil
}

// Catalogue is a set of kinds.
type Catalogue struct {
	kinds      []*Kind // by Type and APIVersion
	refusals   []Refusal
	byType     map[string][]*Kind // by lower-case Type
	byName     map[schema.GroupKind][]*Kind
	byResource map[schema.GroupResource]*Kind
}

// Entry is a Kind and its Definition, for New.
type Entry struct {
	Kind
	Definition *Definition
}

// New returns a Catalogue of kinds that are in memory.
func New(entries []Entry, refusals []Refusal) (*Catalogue, error) {
	kinds := make([]*Kind, len(entries))
	for i, e := range entries {
		kind := e.Kind
		kind.SecretFields = secretFields(e.Definition)
		kind.load = func() (*Definition, error) { return e.Definition, nil }
		kinds[i] = &kind
	}
	return indexKinds(kinds, refusals)
}

// indexKinds sorts kinds and refuses two kinds with the same name.
func indexKinds(kinds []*Kind, refusals []Refusal) (*Catalogue, error) {
	slices.SortFunc(kinds, compareKinds)
	c := &Catalogue{
		kinds: kinds, refusals: refusals,
		byType: map[string][]*Kind{}, byName: map[schema.GroupKind][]*Kind{},
		byResource: map[schema.GroupResource]*Kind{},
	}
	for i, k := range kinds {
		if err := k.check(); err != nil {
			return nil, err
		}
		if i > 0 && compareKinds(kinds[i-1], k) == 0 {
			return nil, fmt.Errorf("%s is there twice in %s", k.Type, k.APIVersion)
		}
		lower := strings.ToLower(k.Type)
		c.byType[lower] = append(c.byType[lower], k)
		name := k.GroupVersionKind().GroupKind()
		if same := c.byName[name]; len(same) > 0 && !strings.EqualFold(same[0].Type, k.Type) {
			return nil, fmt.Errorf("%s and %s both have the kind %s", same[0].Type, k.Type, name)
		}
		c.byName[name] = append(c.byName[name], k)
		resource := k.GroupVersionResource().GroupResource()
		if same := c.byResource[resource]; same != nil && same.Kind != k.Kind {
			return nil, fmt.Errorf("the kinds %s and %s both have the plural %s", same.Kind, k.Kind, resource)
		}
		c.byResource[resource] = k
	}
	return c, nil
}

func compareKinds(a, b *Kind) int {
	return cmp.Or(strings.Compare(strings.ToLower(a.Type), strings.ToLower(b.Type)),
		strings.Compare(a.APIVersion, b.APIVersion))
}

// check compares the names in Kubernetes with the names in ARM.
func (k *Kind) check() error {
	provider, types, _ := strings.Cut(k.Type, "/")
	switch {
	case provider == "" || types == "" || slices.Contains(strings.Split(types, "/"), ""):
		return fmt.Errorf("%q is no ARM type", k.Type)
	case k.Group != GroupOf(k.Type):
		return fmt.Errorf("the group of %s is %q instead of %q", k.Type, k.Group, GroupOf(k.Type))
	case k.Version != VersionOf(k.APIVersion):
		return fmt.Errorf("the version of %s is %q instead of %q", k.Type, k.Version, VersionOf(k.APIVersion))
	case !isKindName(k.Kind) || k.Plural == "" || len(k.Plural) > 63 || k.Plural != strings.ToLower(k.Plural):
		return fmt.Errorf("%s has the kind %q and the plural %q", k.Type, k.Kind, k.Plural)
	case k.Scopes == 0 || k.Scopes >= scopeEnd:
		return fmt.Errorf("%s has the scope %d", k.Type, k.Scopes)
	}
	return nil
}

// Verify decodes the definitions of all kinds.
func (c *Catalogue) Verify() error {
	for _, k := range c.kinds {
		if _, err := k.Definition(); err != nil {
			return err
		}
	}
	return nil
}

// Kinds returns all kinds, by Type and APIVersion.
func (c *Catalogue) Kinds() []*Kind { return c.kinds }

// Refusals returns the types that armgen made no Kind of.
func (c *Catalogue) Refusals() []Refusal { return c.refusals }

// Versions returns the kinds of an ARM type in any case of letters, the oldest api-version first.
func (c *Catalogue) Versions(armType string) []*Kind { return c.byType[strings.ToLower(armType)] }

// Default returns the Kind of an ARM type that is enabled unless the user names a version, or nil.
func (c *Catalogue) Default(armType string) *Kind { return preferred(c.Versions(armType)) }

// ByGroupKind returns the kinds with a name in Kubernetes, one per version.
func (c *Catalogue) ByGroupKind(name schema.GroupKind) []*Kind { return c.byName[name] }

// ByResource returns the default Kind of a resource such as
// virtualnetworks.microsoft.network.infra.azure.com, or nil.
func (c *Catalogue) ByResource(resource schema.GroupResource) *Kind {
	if k := c.byResource[resource]; k != nil {
		return c.Default(k.Type)
	}
	return nil
}

// Find returns the Kind with a name in Kubernetes, or nil.
func (c *Catalogue) Find(name schema.GroupVersionKind) *Kind {
	for _, k := range c.byName[name.GroupKind()] {
		if k.Version == name.Version {
			return k
		}
	}
	return nil
}

// Match returns the default kinds whose ARM type matches a pattern of path.Match, where "*" also
// matches "/". A pattern may name an api-version: "Microsoft.Network/virtualNetworks*@2020-03-01".
func (c *Catalogue) Match(pattern string) ([]*Kind, error) {
	types, version, versioned := strings.Cut(strings.ToLower(pattern), "@")
	types = strings.ReplaceAll(types, "/", "\x00")
	var found []*Kind
	for _, k := range c.kinds {
		ok, err := path.Match(types, strings.ReplaceAll(strings.ToLower(k.Type), "/", "\x00"))
		if err != nil {
			return nil, fmt.Errorf("reading the pattern %q: %w", pattern, err)
		}
		wanted := versioned && k.APIVersion == version || !versioned && c.Default(k.Type) == k
		if ok && wanted {
			found = append(found, k)
		}
	}
	return found, nil
}

// preferred returns the Default of kinds, or else the newest stable version, or else the newest.
func preferred(kinds []*Kind) *Kind {
	var best *Kind
	for _, k := range kinds {
		stable := !strings.Contains(k.APIVersion, "-preview")
		if k.Default || best == nil || stable || strings.Contains(best.APIVersion, "-preview") {
			best = k
		}
		if k.Default {
			return k
		}
	}
	return best
}

// lazy returns a function that calls decode once, and returns the Definition with a number.
func lazy(decode func() ([]*Definition, error)) func(i int) (*Definition, error) {
	once := sync.OnceValues(decode)
	return func(i int) (*Definition, error) {
		all, err := once()
		if err != nil {
			return nil, err
		}
		return all[i], nil
	}
}
