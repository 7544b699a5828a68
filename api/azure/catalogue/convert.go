package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Fields of every spec, besides the properties of the ARM body.
const (
	// AzureNameField is the name of the resource in ARM. Missing, it is metadata.name.
	AzureNameField = "azureName"
	// OwnerField is the Reference to the owner.
	OwnerField = "ownerRef"
	// RawField is the list of Rest.
	RawField = "raw"
)

// reserved are the names in a spec that no ARM property gets.
var reserved = []string{
	AzureNameField, OwnerField, RawField,
	"managementPolicy", "managedOptions", "resyncPeriod", "import", "credentialsRef",
}

// IsReserved tells whether a name in the spec is no property of the ARM body.
func IsReserved(name string) bool { return slices.Contains(reserved, name) }

// Conversion is the context of ToARM and FromARM.
type Conversion struct {
	// Parent is the ARM id of the owner, or of the scope of a resource without owner.
	Parent string
	// Name is the name of the resource. Empty means spec.azureName, or the name in the body.
	Name string
	// Resolve returns the ARM id of an object in Kubernetes. Group and Kind are set, unless several
	// kinds are allowed and the reference names none. Without Resolve, ToARM refuses such references.
	Resolve func(reference KubernetesReference, targets []Target) (id string, err error)
	// Allows reports whether an ARM id in a body may become a reference to one of the targets. FromARM leaves
	// another id in the Rest. Without Allows, each ARM id becomes a reference.
	Allows func(id string, targets []Target) bool
	// Kinds finds the kind of a Target, for a reference that names no group and kind.
	Kinds *Catalogue
}

// converter walks a body along the shape of its Kind.
type converter struct {
	Conversion
	self string // the ARM id of the resource, if it is known
	rest []Rest
	errs []error
}

// fail records an error at a place of the spec.
func (c *converter) fail(path, message string, arguments ...any) {
	c.errs = append(c.errs, fmt.Errorf("spec%s: %w", path, fmt.Errorf(message, arguments...)))
}

// ToARM returns the body of the resource for a PUT, with a Hidden in the place of each secret. ToARM needs no owner in
// the spec. The error lists all fields that can't be converted.
func (k *Kind) ToARM(spec map[string]any, with Conversion) (map[string]any, error) {
	definition, err := k.Definition()
	if err != nil {
		return nil, err
	}
	c := converter{Conversion: with}
	name, named := spec[AzureNameField].(string)
	if with.Name == "" {
		c.Name = name
	}
	c.self, _ = k.ID(with.Parent, c.Name)
	known := maps.Clone(spec)
	for _, field := range reserved {
		delete(known, field)
	}
	body := c.objectToARM(definition.Body, known, "")
	if named {
		body["name"] = name
	}
	c.putRest(body, spec[RawField])
	c.checkSecrets(body, definition.Sensitive)
	if len(c.errs) > 0 {
		return nil, fmt.Errorf("converting %s: %w", k.Kind, errors.Join(c.errs...))
	}
	if err := runHooks(k.Type, func(h Hook) error { return call(h.ToARM, spec, body) }); err != nil {
		return nil, fmt.Errorf("converting %s: %w", k.Kind, err)
	}
	return body, nil
}

// toARM returns the ARM form of a value in Kubernetes. path is its place in the spec.
func (c *converter) toARM(s *Shape, value any, path string) any {
	switch s.Type {
	case Object, Map:
		m, ok := value.(map[string]any)
		if !ok {
			c.fail(path, "want an object instead of %s", typeName(value))
			return nil
		}
		if s.Type == Object {
			return c.objectToARM(s, m, path)
		}
		out := make(map[string]any, len(m))
		for _, key := range slices.Sorted(maps.Keys(m)) {
			out[key] = c.toARM(s.Items, m[key], path+"["+strconv.Quote(key)+"]")
		}
		return out
	case List:
		return c.listToARM(s, value, path)
	case ID, IDObject:
		id := c.referenceToARM(s, value, path)
		if s.Type == ID {
			return id
		}
		return map[string]any{"id": id}
	case IDMap:
		return c.idsToARM(s, value, path)
	case Secret:
		return c.secretToARM(s, value, path)
	default:
		return value
	}
}

func (c *converter) listToARM(s *Shape, value any, path string) any {
	list, ok := value.([]any)
	if !ok {
		c.fail(path, "want a list instead of %s", typeName(value))
		return nil
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = c.toARM(s.Items, item, path+"["+strconv.Itoa(i)+"]")
	}
	return out
}

func (c *converter) objectToARM(s *Shape, m map[string]any, path string) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		p := s.find(name)
		if p == nil {
			if !s.Open {
				c.fail(path+"."+name, "the field is unknown: an ARM property that this api-version doesn't have "+
					"can be set in spec.%s", RawField)
			}
			out[name] = m[name]
			continue
		}
		value := c.toARM(p.Shape, m[name], path+"."+name)
		if !p.Nested {
			out[p.ARM] = value
			continue
		}
		if _, ok := out["properties"]; !ok {
			out["properties"] = map[string]any{}
		}
		if nested, ok := out["properties"].(map[string]any); ok {
			nested[p.ARM] = value
		}
	}
	return out
}

func (c *converter) idsToARM(s *Shape, value any, path string) any {
	list, ok := value.([]any)
	if !ok {
		c.fail(path, "want a list instead of %s", typeName(value))
		return nil
	}
	out := make(map[string]any, len(list))
	for i, item := range list {
		place := path + "[" + strconv.Itoa(i) + "]"
		entry, ok := item.(map[string]any)
		if !ok {
			c.fail(place, "want an object instead of %s", typeName(item))
			continue
		}
		id := c.referenceToARM(s, entry["ref"], place+".ref")
		inner, ok := entry["value"]
		if !ok {
			inner = map[string]any{}
		}
		out[id] = c.toARM(s.Items, inner, place+".value")
	}
	return out
}

// referenceToARM returns the ARM id that a Reference stands for.
func (c *converter) referenceToARM(s *Shape, value any, path string) string {
	r, err := ParseReference(value)
	if err != nil {
		c.fail(path, "%w", err)
		return ""
	}
	id, err := c.resolve(r, s.Targets)
	if err != nil {
		c.fail(path, "%w", err)
	}
	return id
}

func (c *converter) resolve(r Reference, targets []Target) (string, error) {
	switch {
	case r.Self != "" && c.self == "":
		return "", errors.New("a reference to a part of the resource needs the ids of its owner")
	case r.Self != "":
		return c.self + "/" + r.Self, nil
	case r.Azure != nil:
		return r.Azure.ID(c.Parent)
	case c.Resolve == nil:
		return "", fmt.Errorf("the ARM id of the object %s isn't known here", r.Kubernetes.Name)
	}
	complete := *r.Kubernetes
	if len(targets) == 1 && c.Kinds != nil {
		if k := c.Kinds.Default(targets[0].Type); k != nil && complete.Kind == "" {
			complete.Group, complete.Kind = k.Group, k.Kind
		}
	}
	id, err := c.Resolve(complete, targets)
	if err != nil {
		return "", err
	}
	if complete.Path != "" {
		id += "/" + complete.Path
	}
	return id, nil
}

// QualifiedName returns the name of a resource in a deployment template, such as net/web for the
// subnet web in the network net. parent is the ARM id of the owner.
func (k *Kind) QualifiedName(parent, name string) string {
	levels := strings.Count(k.Type, "/") - 1
	segments := strings.Split(strings.TrimSuffix(parent, "/"), "/")
	var names []string
	for i := len(segments) - 1; i > 0 && len(names) < levels; i -= 2 {
		names = append(names, segments[i])
	}
	slices.Reverse(names)
	return strings.Join(append(names, name), "/")
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}
