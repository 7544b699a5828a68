package builtin

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/relation"
)

const bySelector = relation.BySelector

// claimSpec are the references in a PersistentVolumeClaimSpec.
func claimSpec(name, path string) []entry {
	return []entry{
		needs(name+"storageclass", path+"storageClassName", storageClass),
		needs(name+"attributesclass", path+"volumeAttributesClassName", attributesClass),
		needs(name+"volume", path+"volumeName", volume),
		typed(name+"datasource", path+"dataSourceRef", schema.GroupKind{}).in("namespace"),
	}
}

// storage are the references between PersistentVolumeClaims, PersistentVolumes, StorageClasses
// and CSIDrivers.
func storage() []table {
	claimed := claimSpec("", "")
	for i := range claimed {
		if claimed[i].to == volume {
			claimed[i].finalizer = "kubernetes.io/pv-protection" // Kept while a PersistentVolumeClaim is bound to the volume.
		}
	}
	bound := across("claim", "claimRef.name", claim, "namespace")
	bound.later = true // A PersistentVolume outlives its claim (reclaimPolicy Retain).
	volumes := append([]entry{
		bound,
		needs("storageclass", "storageClassName", storageClass),
		needs("attributesclass", "volumeAttributesClassName", attributesClass),
		needs("csi-driver", "csi.driver", csiDriver),
		across("azurefile-secret", "azureFile.secretName", secret, "secretNamespace"),
		across("glusterfs-endpoints", "glusterfs.endpoints", endpoints, "endpointsNamespace"),
	}, volumeSecrets()...)
	return []table{
		one(claim, "spec.", claimed...),
		one(volume, "spec.", volumes...),
		one(kind("storage.k8s.io", "VolumeAttachment"), "spec.",
			needs("volume", "source.persistentVolumeName", volume),
			needs("node", "nodeName", node),
			needs("csi-driver", "attacher", csiDriver)),
		one(kind("storage.k8s.io", "CSIStorageCapacity"), "", needs("storageclass", "storageClassName", storageClass)),
		one(kind("storage.k8s.io", "StorageClass"), "", needs("csi-driver", "provisioner", csiDriver)),
		one(kind("storage.k8s.io", "VolumeAttributesClass"), "", needs("csi-driver", "driverName", csiDriver)),
		one(kind("resource.k8s.io", "ResourceClaim"), "spec.", devices("")...),
		one(kind("resource.k8s.io", "ResourceSlice"), "spec.",
			needs("node", "nodeName", node),
			needs("device-node", "devices[*].nodeName", node)),
		one(resourceTemplate, "spec.spec.", devices("")...),
	}
}

// volumeSecrets are the Secrets that a driver reads to expand, attach or mount a
// PersistentVolume.
func volumeSecrets() []entry {
	drivers := []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"}
	steps := []string{"controllerExpand", "controllerPublish", "nodeExpand", "nodePublish", "nodeStage"}
	entries := make([]entry, 0, len(drivers)+len(steps))
	for _, driver := range drivers {
		entries = append(entries, across(driver+"-secret", driver+".secretRef.name", secret, "namespace"))
	}
	for _, step := range steps {
		entries = append(entries, across("csi-"+step+"-secret", "csi."+step+"SecretRef.name", secret, "namespace"))
	}
	return entries
}

// devices are the references of a ResourceClaim to DeviceClasses.
func devices(path string) []entry {
	return []entry{
		needs("deviceclass", path+"devices.requests[*].exactly.deviceClassName", deviceClass),
		needs("deviceclass-either", path+"devices.requests[*].firstAvailable[*].deviceClassName", deviceClass),
	}
}

// network are the references of Services, Ingresses, IngressClasses and NetworkPolicies.
func network() []table {
	ingressClass := kind("networking.k8s.io", "IngressClass")
	return []table{
		one(service, "spec.", selects("pods", "selector", pod, relation.ByLabels)),
		one(kind("networking.k8s.io", "Ingress"), "spec.",
			needs("class", "ingressClassName", ingressClass),
			needs("secret", "tls[*].secretName", secret),
			needs("default-service", "defaultBackend.service.name", service),
			needs("service", "rules[*].http.paths[*].backend.service.name", service),
			typed("default-resource", "defaultBackend.resource", schema.GroupKind{}),
			typed("resource", "rules[*].http.paths[*].backend.resource", schema.GroupKind{})),
		one(ingressClass, "spec.", typed("parameters", "parameters", schema.GroupKind{}).in("namespace")),
		one(kind("networking.k8s.io", "NetworkPolicy"), "spec.", selects("pods", "podSelector", pod, bySelector)),
	}
}

// access are the references of RoleBindings, ClusterRoleBindings and aggregated ClusterRoles.
func access() []table {
	const group = "rbac.authorization.k8s.io"
	binding := []carrier{at(kind(group, "RoleBinding"), ""), at(kind(group, "ClusterRoleBinding"), "")}
	account := entry{
		name: "account", path: "subjects[*]", to: serviceAccount, form: relation.ByKind, namespace: "namespace",
	}.actsOn()
	aggregated := selects("aggregated", "aggregationRule.clusterRoleSelectors[*]", kind(group, "ClusterRole"), bySelector)
	return []table{
		{carriers: binding, entries: []entry{
			typed("clusterrole", "roleRef", kind(group, "ClusterRole")), account,
		}},
		one(kind(group, "ClusterRole"), "", aggregated),
		{carriers: binding[:1], entries: []entry{typed("role", "roleRef", kind(group, "Role"))}},
	}
}

// extension are the references of kinds that extend the API server: webhook configurations,
// CustomResourceDefinitions, APIServices and policy bindings.
func extension() []table {
	const admission = "admissionregistration.k8s.io"
	hooks := []carrier{
		at(kind(admission, "ValidatingWebhookConfiguration"), "webhooks[*].clientConfig."),
		at(kind(admission, "MutatingWebhookConfiguration"), "webhooks[*].clientConfig."),
		at(kind("apiextensions.k8s.io", "CustomResourceDefinition"), "spec.conversion.webhook.clientConfig."),
		at(kind("apiregistration.k8s.io", "APIService"), "spec."),
	}
	validating, mutating := "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
	return slices.Concat([]table{
		{carriers: hooks, entries: []entry{across("service", "service.name", service, "namespace")}},
		one(kind(admission, validating+"Binding"), "spec.", needs("policy", "policyName", kind(admission, validating))),
		one(kind(admission, mutating+"Binding"), "spec.", needs("policy", "policyName", kind(admission, mutating))),
	}, flow())
}

// flow are the references of API priority and fairness (FlowSchema).
func flow() []table {
	const group = "flowcontrol.apiserver.k8s.io"
	return []table{
		one(kind(group, "FlowSchema"), "spec.",
			needs("prioritylevel", "priorityLevelConfiguration.name", kind(group, "PriorityLevelConfiguration")),
			across("account", "rules[*].subjects[*].serviceAccount.name", serviceAccount, "namespace").actsOn()),
	}
}
