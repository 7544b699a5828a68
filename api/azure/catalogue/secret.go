package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// SecretKey stands for a secret in the spec: a key of a Secret in the namespace of the object.
//
// +kubebuilder:object:generate=true
type SecretKey struct {
	// Name of the Secret.
	Name string `json:"name"`
	// Key in the data of the Secret.
	Key string `json:"key"`
}

// Hidden stands for a secret in the body that [Kind.ToARM] returns. [Reveal] puts the value in its place.
type Hidden struct {
	SecretKey

	// JSON tells that the value in the Secret is a JSON object, for a secret that is no text in ARM.
	JSON bool
}

// String returns a text with the name and the key of the Secret, such as "<secret sql/password>".
func (h Hidden) String() string { return "<secret " + h.Name + "/" + h.Key + ">" }

// MarshalJSON implements json.Marshaler with Hidden.String: a printed or hashed body does not contain the value.
func (h Hidden) MarshalJSON() ([]byte, error) { return json.Marshal(h.String()) }

// Decode converts the value in the Secret to the value in the ARM body: a string, or an object if Hidden.JSON is set.
// The error does not contain the value.
func (h Hidden) Decode(text []byte) (any, error) {
	if !h.JSON {
		return string(text), nil
	}
	var value map[string]any
	if json.Unmarshal(text, &value) != nil || value == nil { // Integers stay integers.
		return nil, fmt.Errorf("the key %s of Secret %s is no JSON object", h.Key, h.Name)
	}
	return value, nil
}

// HiddenIn returns the secrets of a body, in the order of the body's keys.
func HiddenIn(body map[string]any) []Hidden {
	var all []Hidden
	_, _ = Reveal(body, func(h Hidden) (any, error) {
		all = append(all, h)
		return h, nil
	})
	return all
}

// Reveal returns a copy of a body with the results of read in the places of the secrets.
func Reveal(body map[string]any, read func(Hidden) (any, error)) (map[string]any, error) {
	var problems []error
	var reveal func(value any) any
	reveal = func(value any) any {
		switch v := value.(type) {
		case Hidden:
			revealed, err := read(v)
			problems = append(problems, err)
			return revealed
		case map[string]any:
			out := make(map[string]any, len(v))
			for _, key := range slices.Sorted(maps.Keys(v)) {
				out[key] = reveal(v[key])
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, item := range v {
				out[i] = reveal(item)
			}
			return out
		default:
			return value
		}
	}
	out, _ := reveal(body).(map[string]any)
	return out, errors.Join(problems...)
}

// Strip returns a body without the values at [Definition.Sensitive]. The result shares memory with the body. Strip does
// not change the body.
func (d *Definition) Strip(body map[string]any) map[string]any { return Without(body, d.Sensitive...) }

// managed are the properties that Azure writes into each resource.
var managed = []Path{"/id", "/type", "/apiVersion", "/etag", "/systemData", "/properties/provisioningState"}

// IsManaged reports whether Azure writes the value at a JSON pointer, such as /etag, into each resource.
func IsManaged(pointer string) bool { return slices.Contains(managed, Path(pointer)) }

// WithoutManaged returns a body without the properties that Azure writes into each resource.
func WithoutManaged(body map[string]any) map[string]any { return Without(body, managed...) }

// Writable returns a body without the values that Azure alone writes, and without secrets. The result shares memory
// with the body, which Writable does not change.
func (d *Definition) Writable(body map[string]any) map[string]any {
	return WithoutManaged(Without(d.Strip(body), d.ReadOnly...))
}

// Without returns a body without the values at some places. The result shares memory with the body, which Without does
// not change.
func Without(body map[string]any, paths ...Path) map[string]any {
	for _, path := range paths {
		body, _ = remove(body, strings.Split(string(path), "/")[1:]).(map[string]any)
	}
	return body
}

// remove returns a value without the values at the end of a path. remove copies only the maps and lists on the path.
func remove(value any, path []string) any {
	segment, rest := path[0], path[1:]
	switch holder := value.(type) {
	case map[string]any:
		var keys []string
		for key := range holder {
			if isAt(segment, key) {
				keys = append(keys, key)
			}
		}
		if len(keys) == 0 {
			return value
		}
		out := maps.Clone(holder)
		for _, key := range keys {
			if len(rest) == 0 {
				delete(out, key)
			} else {
				out[key] = remove(out[key], rest)
			}
		}
		return out
	case []any:
		if segment != "*" {
			return value
		}
		if len(rest) == 0 {
			return []any{}
		}
		out := make([]any, len(holder))
		for i, inner := range holder {
			out[i] = remove(inner, rest)
		}
		return out
	default:
		return value
	}
}

// isAt reports whether a segment of a Path stands for a key. Azure reads keys in any case of letters.
func isAt(segment, key string) bool { return segment == "*" || strings.EqualFold(segment, key) }

// checkSecrets refuses a value at a sensitive Path that is no Hidden: the value comes from spec.raw, or from an object
// without a schema.
func (c *converter) checkSecrets(body map[string]any, sensitive []Path) {
	for _, path := range sensitive {
		for _, pointer := range pointers(body, strings.Split(string(path), "/")[1:], "") {
			c.errs = append(c.errs, fmt.Errorf("spec has a value for %s, which is a secret: keep the value in a Secret, "+
				"and name the Secret and the key in the field", pointer))
		}
	}
}

// pointers returns the JSON pointers of the values at the end of a path that are not Hidden.
func pointers(value any, path []string, place string) (found []string) {
	if _, isHidden := value.(Hidden); isHidden || value == nil {
		return nil
	}
	if len(path) == 0 {
		return []string{place}
	}
	switch holder := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(holder)) {
			if isAt(path[0], key) {
				found = append(found, pointers(holder[key], path[1:], place+"/"+escape(key))...)
			}
		}
	case []any:
		for i, inner := range holder {
			if path[0] == "*" {
				found = append(found, pointers(inner, path[1:], place+"/"+strconv.Itoa(i))...)
			}
		}
	}
	return found
}

// secretToARM returns the Hidden for a SecretKey in a spec.
func (c *converter) secretToARM(s *Shape, value any, path string) any {
	key, err := ParseSecretKey(value)
	if err != nil {
		c.fail(path, "%w", err)
	}
	return Hidden{SecretKey: key, JSON: s.Open}
}

// ParseSecretKey reads a SecretKey from its form in an object.
func ParseSecretKey(value any) (SecretKey, error) {
	var key SecretKey
	err := texts(value, map[string]*string{"name": &key.Name, "key": &key.Key})
	if err != nil || key.Name == "" || key.Key == "" {
		return SecretKey{}, errors.New("the field is a secret: want name and key of a Secret in the namespace")
	}
	return key, nil
}

// FoundSecret is a SecretKey in a spec.
type FoundSecret struct {
	// Path in the object, such as spec.osProfile.adminPassword.
	Path string
	SecretKey
}

// Secrets returns all SecretKeys in a spec, in the order of their paths. A value that is no SecretKey is left out.
func (k *Kind) Secrets(spec map[string]any) ([]FoundSecret, error) {
	if len(k.SecretFields) == 0 {
		return nil, nil
	}
	definition, err := k.Definition()
	if err != nil {
		return nil, err
	}
	var found []FoundSecret
	walk(definition.Body, spec, "spec", func(s *Shape, value any, path string) {
		if key, err := ParseSecretKey(value); err == nil && s.Type == Secret {
			found = append(found, FoundSecret{path, key})
		}
	})
	return found, nil
}

// secretFields returns Kind.SecretFields.
func secretFields(d *Definition) (fields []string) {
	if d == nil || len(d.Sensitive) == 0 {
		return nil
	}
	listFields(d.Body, "spec", func(s *Shape, path string) {
		if s.Type == Secret {
			fields = append(fields, path)
		}
	})
	return fields
}
