package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// ParseReference reads a Reference from its form in an object.
func ParseReference(value any) (Reference, error) {
	m, ok := value.(map[string]any)
	if !ok {
		return Reference{}, fmt.Errorf("want a reference instead of %s", typeName(value))
	}
	if len(m) != 1 {
		return Reference{}, errors.New("give exactly one of kubernetes, azure and self")
	}
	for form, content := range m {
		switch form {
		case "self":
			if self, ok := content.(string); ok && self != "" {
				return Reference{Self: self}, nil
			}
			return Reference{}, errors.New("self has to be a path such as frontendIPConfigurations/public")
		case "kubernetes":
			var r KubernetesReference
			err := texts(content, map[string]*string{"group": &r.Group, "kind": &r.Kind, "name": &r.Name, "path": &r.Path})
			if err == nil && r.Name == "" {
				err = errors.New("kubernetes needs a name")
			}
			return Reference{Kubernetes: &r}, err
		case "azure":
			var r AzureReference
			err := texts(content, map[string]*string{
				"subscription": &r.Subscription, "resourceGroup": &r.ResourceGroup, "name": &r.Name,
			})
			return Reference{Azure: &r}, err
		}
	}
	return Reference{}, errors.New("give exactly one of kubernetes, azure and self")
}

// texts reads the fields of an object, all of which are strings.
func texts(value any, fields map[string]*string) error {
	m, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("want an object instead of %s", typeName(value))
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		text, isText := m[key].(string)
		field, known := fields[key]
		if !known || !isText {
			return fmt.Errorf("the field %s of a reference is unknown or no string", key)
		}
		*field = text
	}
	return nil
}

// toMap returns the form in an object.
func (r Reference) toMap() map[string]any {
	set := func(m map[string]any, key, value string) {
		if value != "" {
			m[key] = value
		}
	}
	inner := map[string]any{}
	switch {
	case r.Kubernetes != nil:
		set(inner, "group", r.Kubernetes.Group)
		set(inner, "kind", r.Kubernetes.Kind)
		set(inner, "name", r.Kubernetes.Name)
		set(inner, "path", r.Kubernetes.Path)
		return map[string]any{"kubernetes": inner}
	case r.Azure != nil:
		set(inner, "subscription", r.Azure.Subscription)
		set(inner, "resourceGroup", r.Azure.ResourceGroup)
		set(inner, "name", r.Azure.Name)
		return map[string]any{"azure": inner}
	default:
		return map[string]any{"self": r.Self}
	}
}

// Found is a Reference in a spec.
type Found struct {
	// Path in the object, such as spec.ipConfigurations[0].subnet.
	Path string
	Reference
	// Targets that the schema allows.
	Targets []Target
}

// Owner returns the reference to the owner in a spec. named is false for a spec that names no owner.
func Owner(spec map[string]any) (r Reference, named bool, err error) {
	value, named := spec[OwnerField]
	if !named {
		return r, false, nil
	}
	if r, err = ParseReference(value); err != nil {
		return r, true, fmt.Errorf("reading spec.%s: %w", OwnerField, err)
	}
	return r, true, nil
}

// References returns all references in a spec but the owner, in the order of their paths. A value that is
// no reference is left out.
func (k *Kind) References(spec map[string]any) ([]Found, error) {
	definition, err := k.Definition()
	if err != nil {
		return nil, err
	}
	var found []Found
	walk(definition.Body, spec, "spec", func(s *Shape, value any, path string) {
		if r, err := ParseReference(value); err == nil && s.Type != Secret {
			found = append(found, Found{Path: path, Reference: r, Targets: s.Targets})
		}
	})
	return found, nil
}

// walk calls visit for each value in the place of a reference or a secret.
func walk(s *Shape, value any, path string, visit func(s *Shape, value any, path string)) {
	switch v := value.(type) {
	case map[string]any:
		if s.isLeaf() {
			visit(s, value, path)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if p := s.find(key); p != nil {
				walk(p.Shape, v[key], path+"."+key, visit)
			} else if s.Type == Map {
				walk(s.Items, v[key], path+"['"+key+"']", visit)
			}
		}
	case []any:
		for i, item := range v {
			place := path + "[" + strconv.Itoa(i) + "]"
			entry, _ := item.(map[string]any)
			switch {
			case s.Type == List:
				walk(s.Items, item, place, visit)
			case s.Type == IDMap && entry != nil:
				visit(s, entry["ref"], place+".ref")
				walk(s.Items, entry["value"], place+".value", visit)
			}
		}
	}
}

// ReferenceField is a field that holds a Reference.
type ReferenceField struct {
	// Path in the object, such as spec.ipConfigurations[*].subnet. In a map, .* is each key.
	Path    string
	Targets []Target
}

// ReferenceFields returns the fields of a Kind that hold references, in the order of their paths.
func (k *Kind) ReferenceFields() ([]ReferenceField, error) {
	definition, err := k.Definition()
	if err != nil {
		return nil, err
	}
	var fields []ReferenceField
	listFields(definition.Body, "spec", func(s *Shape, path string) {
		if s.Type != Secret {
			fields = append(fields, ReferenceField{Path: path, Targets: s.Targets})
		}
	})
	return fields, nil
}

// listFields calls visit for each field of a shape that holds a reference or a secret.
func listFields(s *Shape, path string, visit func(s *Shape, path string)) {
	switch {
	case s.isLeaf():
		visit(s, path)
	case s.Type == IDMap:
		visit(s, path+"[*].ref")
		listFields(s.Items, path+"[*].value", visit)
	case s.Type == Map:
		listFields(s.Items, path+".*", visit)
	case s.Items != nil:
		listFields(s.Items, path+"[*]", visit)
	}
	for _, p := range s.Properties {
		listFields(p.Shape, path+"."+p.Name, visit)
	}
}
