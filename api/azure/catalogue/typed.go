package catalogue

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// ARMTransformer is a spec that has another shape in ARM. The specs of the typed packages implement it.
type ARMTransformer interface {
	// ToArm returns the ARM form of the spec. parentArmID is the ARM id of the owner. The result has type,
	// apiVersion and the qualified name, as in a deployment template.
	ToArm(parentArmID string) (any, error)
	// FromArm sets the spec to that of an ARM body, or of another result of ToArm.
	FromArm(input any) error
}

// RawValue is an entry of spec.raw: a Rest in a typed spec.
//
// +kubebuilder:object:generate=true
type RawValue struct {
	// Path in the ARM body, a JSON pointer such as /properties/dhcpOptions.
	Path string `json:"path"`
	// Value is any JSON value. Without it the value is null.
	Value *runtime.RawExtension `json:"value,omitempty"`
}

// Import names the existing resource that an object stands for.
//
// +kubebuilder:object:generate=true
type Import struct {
	// ID in ARM.
	ID string `json:"id,omitempty"`
}

// CredentialsReference names a Secret in the namespace of the object.
//
// +kubebuilder:object:generate=true
type CredentialsReference struct {
	SecretName string `json:"secretName"`
}

// embeddedKind returns a kind of the embedded catalogue.
func embeddedKind(armType, apiVersion string) (*Kind, error) {
	c, err := Embedded()
	if err != nil {
		return nil, err
	}
	for _, k := range c.Versions(armType) {
		if k.APIVersion == apiVersion {
			return k, nil
		}
	}
	return nil, fmt.Errorf("the embedded catalogue has no %s in %s", armType, apiVersion)
}

// ToTyped converts the typed spec of an ARM type into out, a pointer to its ARM form. The name is the
// qualified name, such as net/web. spec.raw is left to MarshalTyped.
func ToTyped(armType, apiVersion string, spec any, with Conversion, out any) error {
	k, err := embeddedKind(armType, apiVersion)
	if err != nil {
		return err
	}
	var untyped map[string]any
	if err := recode(spec, &untyped); err != nil {
		return fmt.Errorf("reading the spec of %s: %w", k.Kind, err)
	}
	delete(untyped, RawField)
	body, err := k.ToARM(untyped, with)
	if err != nil {
		return err
	}
	if hidden := HiddenIn(body); len(hidden) > 0 {
		return fmt.Errorf("the value of %s isn't known here: use Kind.ToARM and Reveal", hidden[0])
	}
	if name, ok := body["name"].(string); ok {
		body["name"] = k.QualifiedName(with.Parent, name)
	}
	body["type"], body["apiVersion"] = k.Type, k.APIVersion
	if err := recode(body, out); err != nil {
		return fmt.Errorf("writing the ARM form of %s: %w", k.Kind, err)
	}
	return nil
}

// FromTyped converts an ARM body, typed or not, into spec, a pointer to the typed spec of an ARM type.
func FromTyped(armType, apiVersion string, input any, with Conversion, spec any) error {
	k, err := embeddedKind(armType, apiVersion)
	if err != nil {
		return err
	}
	var body map[string]any
	if err := recode(input, &body); err != nil {
		return fmt.Errorf("reading the ARM form of %s: %w", k.Kind, err)
	}
	if bodyType, ok := body["type"].(string); ok && !strings.EqualFold(bodyType, k.Type) {
		return fmt.Errorf("the ARM form is of %s instead of %s", bodyType, k.Type)
	}
	delete(body, "type")
	delete(body, "apiVersion")
	if name, ok := body["name"].(string); ok {
		body["name"] = name[strings.LastIndex(name, "/")+1:]
	}
	untyped, rest, err := k.FromARM(body, with)
	if err != nil {
		return err
	}
	SetRest(untyped, rest)
	if err := recode(untyped, spec); err != nil {
		return fmt.Errorf("writing the spec of %s: %w", k.Kind, err)
	}
	return nil
}

// MarshalTyped returns the JSON of an ARM form, with the values of spec.raw set in it.
func MarshalTyped(arm any, raw []RawValue) ([]byte, error) {
	if len(raw) == 0 {
		return json.Marshal(arm)
	}
	var body map[string]any
	if err := recode(arm, &body); err != nil {
		return nil, err
	}
	var entries []any
	if err := recode(raw, &entries); err != nil {
		return nil, err
	}
	var c converter
	if c.putRest(body, entries); len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return json.Marshal(body)
}

// recode converts a value by its JSON form. Integers stay integers.
func recode(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
