package iot

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/apply"
)

const (
	workloadIdentityUse    = "azure.workload.identity/use"
	workloadIdentityClient = "azure.workload.identity/client-id"

	podIdentityGroup = "aadpodidentity.k8s.io"
	podIdentityLabel = "aadpodidbinding"
	// userAssigned is spec.type of an AzureIdentity for a user-assigned managed identity.
	userAssigned int64 = 0
)

var (
	azureIdentityKind = schema.GroupVersionKind{Group: podIdentityGroup, Version: "v1", Kind: "AzureIdentity"}
	azureBindingKind  = schema.GroupVersionKind{Group: podIdentityGroup, Version: "v1", Kind: "AzureIdentityBinding"}
)

// identity is the identity that every Pod of an IotConnector uses: a ServiceAccount, or an
// AzureIdentity with an AzureIdentityBinding. The identity is created before the first
// Deployment (identityWave).
type identity struct {
	connector *iotv1alpha1.IotConnector
	kind      Identity
}

// azure returns spec.serviceIdentity, or an empty ServiceIdentity.
func (id identity) azure() iotv1alpha1.ServiceIdentity {
	return ptr.Deref(id.connector.Spec.ServiceIdentity, iotv1alpha1.ServiceIdentity{})
}

// render returns the wanted objects.
func (id identity) render() []apply.Object {
	if id.kind == PodIdentity {
		return []apply.Object{
			id.object(azureIdentityKind, fields{"spec": fields{
				"type": userAssigned, "clientID": id.azure().ClientID, "resourceID": id.azure().ResourceID,
			}}),
			id.object(azureBindingKind, fields{"spec": fields{
				"azureIdentity": id.connector.Name, "selector": id.connector.Name,
			}}),
		}
	}
	// The containers don't use the Kubernetes API.
	account := id.object(accountKind, fields{"automountServiceAccountToken": false})
	if client := id.azure().ClientID; client != "" {
		account.SetAnnotations(map[string]string{workloadIdentityClient: client})
		labels := account.GetLabels()
		labels[workloadIdentityUse] = "true"
		account.SetLabels(labels)
	}
	return []apply.Object{account}
}

func (id identity) object(gvk schema.GroupVersionKind, content fields) apply.Object {
	name := id.connector.Name
	u := composedObject(gvk, id.connector.Namespace, name, map[string]string{connectorLabel: name}, content)
	return apply.Object{Unstructured: u, Wave: identityWave}
}

// status returns kind and name of the identity, for status.identity.
func (id identity) status() *iotv1alpha1.Identity {
	kind := accountKind.Kind
	if id.kind == PodIdentity {
		kind = azureIdentityKind.Kind
	}
	return &iotv1alpha1.Identity{Kind: kind, Name: id.connector.Name}
}

// account returns spec.serviceAccountName of the Pods; empty means ServiceAccount "default".
func (id identity) account() string {
	if id.kind == PodIdentity {
		return ""
	}
	return id.connector.Name
}

// podLabels returns the labels by which the Azure webhooks find the Pods of the identity.
func (id identity) podLabels() map[string]string {
	switch {
	case id.kind == PodIdentity:
		return map[string]string{podIdentityLabel: id.connector.Name}
	case id.azure().ClientID != "":
		return map[string]string{workloadIdentityUse: "true"}
	default:
		return nil
	}
}
