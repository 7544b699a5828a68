package iot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
)

// HashSpec returns a hash of the JSON of a spec.
func HashSpec(spec *iotv1alpha1.IotConnectorSpec) string {
	text, err := json.Marshal(spec)
	if err != nil {
		// A spec was decoded from JSON, so json.Marshal can't fail.
		panic(fmt.Sprintf("hash spec: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Upgrade brings an IotConnector from version 0 to version 1: each entry of spec.containers
// becomes an entry of spec.deployments. The previous spec is kept in AnnotationPreviousSpec,
// unless the previous spec is larger than [iotv1alpha1.MaxPreviousSpec]. names holds internal
// service names by type. Upgrade reports whether the IotConnector was changed.
func Upgrade(c *iotv1alpha1.IotConnector, names map[string]string) (bool, error) {
	if c.Spec.EffectiveVersion() != iotv1alpha1.Version0 {
		return false, nil
	}
	previous, err := json.Marshal(&c.Spec)
	if err != nil {
		return false, &InvalidError{Connector: c.Name, Problem: fmt.Errorf("keep the previous spec: %w", err)}
	}
	version := iotv1alpha1.Version1
	spec := iotv1alpha1.IotConnectorSpec{
		Version: &version, Deployments: []iotv1alpha1.Deployment{}, ServiceIdentity: c.Spec.ServiceIdentity,
	}
	for _, container := range c.Spec.Containers {
		t := CanonicalType(container.Type)
		spec.Deployments = append(spec.Deployments, iotv1alpha1.Deployment{
			Name: names[t], Type: t, Containers: []iotv1alpha1.Container{container},
		})
	}
	if err := Validate(c.Name, &spec); err != nil {
		return false, &InvalidError{Connector: c.Name, Problem: fmt.Errorf("upgrade to version 1: %w", err)}
	}
	c.Spec = spec
	delete(c.Annotations, iotv1alpha1.AnnotationPreviousSpec)
	if len(previous) <= iotv1alpha1.MaxPreviousSpec {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[iotv1alpha1.AnnotationPreviousSpec] = string(previous)
	}
	return true, nil
}

// Previous returns the spec before the upgrade, from AnnotationPreviousSpec.
func Previous(c *iotv1alpha1.IotConnector) (*iotv1alpha1.IotConnectorSpec, error) {
	text := c.Annotations[iotv1alpha1.AnnotationPreviousSpec]
	switch {
	case text == "":
		return nil, fmt.Errorf("there is no previous spec: annotation %s is missing, "+
			"which an upgrade leaves out when the spec has more than %d KiB",
			iotv1alpha1.AnnotationPreviousSpec, iotv1alpha1.MaxPreviousSpec>>10)
	case len(text) > iotv1alpha1.MaxPreviousSpec:
		return nil, fmt.Errorf("the previous spec has %d bytes, more than the limit of %d",
			len(text), iotv1alpha1.MaxPreviousSpec)
	}
	var spec iotv1alpha1.IotConnectorSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return nil, fmt.Errorf("read the previous spec: %w", err)
	}
	if spec.EffectiveVersion() != iotv1alpha1.Version0 {
		return nil, fmt.Errorf("the previous spec is of version %d", spec.EffectiveVersion())
	}
	return &spec, nil
}

// Rollback restores the spec before the upgrade, from AnnotationPreviousSpec. The validating
// webhook only accepts the rollback if status.previous holds the HashSpec of that spec.
func Rollback(c *iotv1alpha1.IotConnector) error {
	previous, err := Previous(c)
	if err != nil {
		return &InvalidError{Connector: c.Name, Problem: fmt.Errorf("roll back: %w", err)}
	}
	c.Spec = *previous
	delete(c.Annotations, iotv1alpha1.AnnotationPreviousSpec)
	return nil
}
