package iot

import (
	"errors"
	"fmt"
	"strings"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
)

// Types of deployments in seed 2. Any other string is a valid type too.
const (
	TypeNormalization       = "Normalization"
	TypeFhirConverter       = "FhirConverter"
	TypeStorageDestination  = "StorageDestination"
	TypeEventhubDestination = "EventhubDestination"

	// typeFhirTransformation is an older name of TypeFhirConverter.
	typeFhirTransformation = "FhirTransformation"
)

// maxName is the maximum length of a label's value, because each name is used as a label.
const maxName = 63

// CanonicalType returns TypeFhirConverter for FhirTransformation, and any other type unchanged.
func CanonicalType(t string) string {
	if t == typeFhirTransformation {
		return TypeFhirConverter
	}
	return t
}

// TypeOf returns the type of a deployment: Deployment.Type, or Container.Type of the first
// container.
func TypeOf(d *iotv1alpha1.Deployment) string {
	if d.Type == "" && len(d.Containers) > 0 {
		return CanonicalType(d.Containers[0].Type)
	}
	return CanonicalType(d.Type)
}

// NameOf returns the name of the apps/v1 Deployment for an entry of spec.deployments:
// Deployment.Name, or Container.Name of the first container, or CONNECTOR-TYPE, such as
// "clinic-fhirconverter".
func NameOf(connector string, d *iotv1alpha1.Deployment) string {
	switch {
	case d.Name != "":
		return d.Name
	case len(d.Containers) > 0 && d.Containers[0].Name != "":
		return d.Containers[0].Name
	default:
		return connector + "-" + strings.ToLower(TypeOf(d))
	}
}

// ContainerName returns the name of a container in its Pod: Container.Name or the type.
func ContainerName(c *iotv1alpha1.Container) string {
	if c.Name != "" {
		return c.Name
	}
	return strings.ToLower(CanonicalType(c.Type))
}

// Validate returns the problems of a spec that the CRD's schema can't express, such as two entries
// of spec.deployments with the same NameOf.
func Validate(name string, spec *iotv1alpha1.IotConnectorSpec) error {
	if spec.EffectiveVersion() == iotv1alpha1.Version0 {
		return containerNames("spec.containers", spec.Containers)
	}
	var problems []error
	first := map[string]int{}
	for i := range spec.Deployments {
		d := &spec.Deployments[i]
		field, derived := fmt.Sprintf("spec.deployments[%d]", i), NameOf(name, d)
		earlier, taken := first[derived]
		switch {
		case taken:
			problems = append(problems, fmt.Errorf(
				"%s comes to the name %q, which is that of spec.deployments[%d]: give one of them another name",
				field, derived, earlier))
		case derived == name:
			problems = append(problems, fmt.Errorf(
				"%s comes to the name %q, which is the IotConnector's own and kept for version 0", field, derived))
		case len(derived) > maxName:
			problems = append(problems, fmt.Errorf(
				"%s comes to the name %q, which has %d characters, at most %d are allowed",
				field, derived, len(derived), maxName))
		}
		if !taken {
			first[derived] = i
		}
		problems = append(problems, containerNames(field+".containers", d.Containers))
	}
	return errors.Join(problems...)
}

// containerNames refuses two containers with the same ContainerName, which no Pod can have.
func containerNames(field string, containers []iotv1alpha1.Container) error {
	first := map[string]int{}
	for i := range containers {
		name := ContainerName(&containers[i])
		if earlier, taken := first[name]; taken {
			return fmt.Errorf("%s[%d] comes to the name %q, which is that of [%d]: give one of them another name",
				field, i, name, earlier)
		}
		first[name] = i
	}
	return nil
}
