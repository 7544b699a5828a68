package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// KubernetesReference names an object in the namespace of the object that refers to it.
//
// +kubebuilder:object:generate=true
type KubernetesReference struct {
	// Group and Kind of the object. Both may be empty where one kind alone is allowed.
	Group string `json:"group,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Name  string `json:"name"`
	// Path leads to a part of the resource, such as frontendIPConfigurations/public of a LoadBalancer.
	Path string `json:"path,omitempty"`
}

// AzureReference names a resource outside of Kubernetes.
//
// +kubebuilder:object:generate=true
type AzureReference struct {
	// Subscription of the resource. Empty means the one of the resource that refers to it.
	Subscription string `json:"subscription,omitempty"`
	// ResourceGroup of the resource. Empty means the one of the resource that refers to it.
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// Name is the part of the ARM id after "providers/", such as
	// Microsoft.Network/virtualNetworks/net/subnets/web. A Name that starts with "/" is a whole ARM id,
	// for resources that are in no resource group. An empty Name means the resource group.
	Name string `json:"name,omitempty"`
}

// Reference names another resource, or a part of a resource. Exactly one field is set.
//
// +kubebuilder:object:generate=true
type Reference struct {
	Kubernetes *KubernetesReference `json:"kubernetes,omitempty"`
	Azure      *AzureReference      `json:"azure,omitempty"`
	// Self leads to a part of the resource that has the Reference, such as
	// frontendIPConfigurations/public.
	Self string `json:"self,omitempty"`
}

// ResourceGroupType is the ARM type of resource groups. Their ids have no "providers/".
const ResourceGroupType = "Microsoft.Resources/resourceGroups"

// ExampleParent is the id of a parent for a [Conversion] whose result is only compared.
const ExampleParent = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/none"

const (
	subscriptions  = "/subscriptions/"
	resourceGroups = "/resourceGroups/"
	providers      = "/providers/"
)

// ID returns the ARM id. from is the id of the resource that has the reference: a missing
// Subscription or ResourceGroup is taken from it.
func (r AzureReference) ID(from string) (string, error) {
	if strings.HasPrefix(r.Name, "/") {
		if r.Subscription != "" || r.ResourceGroup != "" {
			return "", fmt.Errorf("the name %q is a whole ARM id: give no subscription and no resourceGroup", r.Name)
		}
		return r.Name, nil
	}
	place := placeOf(from)
	subscription, group := r.Subscription, r.ResourceGroup
	if subscription == "" {
		subscription = place.subscription
	}
	if group == "" && r.Name != "" {
		group = place.group
	}
	switch {
	case subscription == "":
		return "", errors.New("the reference names no subscription")
	case strings.Contains(subscription+group, "/"):
		return "", fmt.Errorf("the subscription %q or the resource group %q contains a slash", subscription, group)
	}
	id := subscriptions + subscription
	if group != "" { // empty if the resource that refers is in no resource group either
		id += resourceGroups + group
	}
	if r.Name == "" {
		return id, nil
	}
	if segments := strings.Split(r.Name, "/"); len(segments) < 3 || len(segments)%2 == 0 || slices.Contains(segments, "") {
		return "", fmt.Errorf("%q is no name such as Microsoft.Network/virtualNetworks/net/subnets/web", r.Name)
	}
	return id + providers + r.Name, nil
}

// ReferenceTo returns the AzureReference of an ARM id. Its ID is exactly id. ok is false if id is no ARM
// id.
func ReferenceTo(id string) (r AzureReference, ok bool) {
	if !strings.HasPrefix(id, "/") {
		return AzureReference{}, false
	}
	whole := AzureReference{Name: id}
	place := placeOf(id)
	if place.subscription == "" || place.group == "" {
		return whole, true
	}
	r = AzureReference{Subscription: place.subscription, ResourceGroup: place.group, Name: place.rest}
	if back, err := r.ID(""); err != nil || back != id || strings.Contains(strings.ToLower(r.Name), providers) {
		return whole, true
	}
	return r, true
}

// place is where a resource is.
type place struct{ subscription, group, rest string }

// placeOf returns the place of an ARM id. rest is the text after the first "providers/".
func placeOf(id string) place {
	segments := strings.Split(strings.TrimPrefix(id, "/"), "/")
	var p place
	if len(segments) >= 2 && strings.EqualFold(segments[0], "subscriptions") {
		p.subscription, segments = segments[1], segments[2:]
	}
	if len(segments) >= 2 && strings.EqualFold(segments[0], "resourceGroups") {
		p.group, segments = segments[1], segments[2:]
	}
	if len(segments) >= 2 && strings.EqualFold(segments[0], "providers") {
		p.rest = strings.Join(segments[1:], "/")
	}
	return p
}

// ID returns the ARM id of a resource of this kind. parent is the id of its owner, or the place where the
// resource is: of a resource group, of a subscription, or empty for the tenant.
func (k *Kind) ID(parent, name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/?#") {
		return "", fmt.Errorf("%q can't be the name of a resource of %s", name, k.Type)
	}
	parent = strings.TrimSuffix(parent, "/")
	provider, types, _ := strings.Cut(k.Type, "/")
	segments := strings.Split(types, "/")
	last := segments[len(segments)-1]
	if len(segments) > 1 || strings.EqualFold(k.Type, ResourceGroupType) {
		return parent + "/" + last + "/" + name, nil
	}
	return parent + providers + provider + "/" + last + "/" + name, nil
}
