package builtin

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	pod            = core("Pod")
	secret         = core("Secret")
	configMap      = core("ConfigMap")
	service        = core("Service")
	serviceAccount = core("ServiceAccount")
	node           = core("Node")
	endpoints      = core("Endpoints")
	claim          = core("PersistentVolumeClaim")
	volume         = core("PersistentVolume")

	deployment  = kind("apps", "Deployment")
	replicaSet  = kind("apps", "ReplicaSet")
	statefulSet = kind("apps", "StatefulSet")
	daemonSet   = kind("apps", "DaemonSet")

	storageClass       = kind("storage.k8s.io", "StorageClass")
	attributesClass    = kind("storage.k8s.io", "VolumeAttributesClass")
	csiDriver          = kind("storage.k8s.io", "CSIDriver")
	priorityClass      = kind("scheduling.k8s.io", "PriorityClass")
	runtimeClass       = kind("node.k8s.io", "RuntimeClass")
	resourceClaim      = kind("resource.k8s.io", "ResourceClaim")
	resourceTemplate   = kind("resource.k8s.io", "ResourceClaimTemplate")
	deviceClass        = kind("resource.k8s.io", "DeviceClass")
	clusterTrustBundle = kind("certificates.k8s.io", "ClusterTrustBundle")
)

// podCarriers are the kinds with a PodSpec, or with a template of a PodSpec.
var podCarriers = []carrier{
	at(pod, "spec."),
	at(core("PodTemplate"), "template.spec."),
	at(core("ReplicationController"), "spec.template.spec."),
	at(deployment, "spec.template.spec."),
	at(replicaSet, "spec.template.spec."),
	at(statefulSet, "spec.template.spec."),
	at(daemonSet, "spec.template.spec."),
	at(kind("batch", "Job"), "spec.template.spec."),
	at(kind("batch", "CronJob"), "spec.jobTemplate.spec.template.spec."),
}

func pods() []table {
	entries := slices.Concat(
		[]entry{
			needs("serviceaccount", "serviceAccountName", serviceAccount),
			needs("priorityclass", "priorityClassName", priorityClass),
			needs("runtimeclass", "runtimeClassName", runtimeClass),
			needs("node", "nodeName", node),
			// The kubelet pulls without the Secret in imagePullSecrets, if the registry
			// permits.
			mayNeed("pull-secret", "imagePullSecrets[*].name", secret),
			needs("podgroup", "schedulingGroup.podGroupName", kind("scheduling.k8s.io", "PodGroup")),
			needs("resourceclaim", "resourceClaims[*].resourceClaimName", resourceClaim),
			needs("resourceclaimtemplate", "resourceClaims[*].resourceClaimTemplateName", resourceTemplate),
		},
		volumes(),
		environment("containers"),
		environment("initContainers"),
		environment("ephemeralContainers"),
	)
	return []table{
		{carriers: podCarriers, entries: entries},
		{carriers: podCarriers[:1], entries: mountedClaim()},
		{carriers: podCarriers[1:], entries: []entry{needs("claim", claimPath, claim)}},
	}
}

const claimPath = "volumes[*].persistentVolumeClaim.claimName"

// mountedClaim is the reference of a Pod to a PersistentVolumeClaim. The claim protection
// controller keeps the claim while a Pod with spec.nodeName refers to the claim. A Pod without
// spec.nodeName keeps no claim: the kubelet starts no Pod with a claim that is being deleted
// (pkg/controller/volume/pvcprotection of Kubernetes).
func mountedClaim() []entry {
	scheduled := func(declarer, _ map[string]any) bool {
		spec, _ := declarer["spec"].(map[string]any)
		name, _ := spec["nodeName"].(string)
		return name != ""
	}
	held := needs("claim", claimPath, claim)
	held.only, held.finalizer = scheduled, "kubernetes.io/pvc-protection"
	waiting := needs("claim-unscheduled", claimPath, claim)
	waiting.only = func(declarer, holder map[string]any) bool { return !scheduled(declarer, holder) }
	return []entry{held, waiting}
}

// volumes are the references in spec.volumes of a Pod.
func volumes() []entry {
	entries := slices.Concat(
		unlessOptional("volume-secret", "volumes[*].secret.secretName", secret),
		unlessOptional("volume-configmap", "volumes[*].configMap.name", configMap),
		unlessOptional("projected-secret", "volumes[*].projected.sources[*].secret.name", secret),
		unlessOptional("projected-configmap", "volumes[*].projected.sources[*].configMap.name", configMap),
		unlessOptional("projected-trustbundle",
			"volumes[*].projected.sources[*].clusterTrustBundle.name", clusterTrustBundle),
		[]entry{
			needs("csi-driver", "volumes[*].csi.driver", csiDriver),
			needs("azurefile-secret", "volumes[*].azureFile.secretName", secret),
			needs("glusterfs-endpoints", "volumes[*].glusterfs.endpoints", endpoints),
			needs("csi-secret", "volumes[*].csi.nodePublishSecretRef.name", secret),
		},
		claimSpec("ephemeral-", "volumes[*].ephemeral.volumeClaimTemplate.spec."),
	)
	for _, driver := range []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		entries = append(entries, needs(driver+"-secret", "volumes[*]."+driver+".secretRef.name", secret))
	}
	return entries
}

// environment are the references in env and envFrom of containers.
func environment(containers string) []entry {
	return slices.Concat(
		unlessOptional(containers+"-env-secret", containers+"[*].env[*].valueFrom.secretKeyRef.name", secret),
		unlessOptional(containers+"-env-configmap", containers+"[*].env[*].valueFrom.configMapKeyRef.name", configMap),
		unlessOptional(containers+"-envfrom-secret", containers+"[*].envFrom[*].secretRef.name", secret),
		unlessOptional(containers+"-envfrom-configmap", containers+"[*].envFrom[*].configMapRef.name", configMap),
	)
}

// workloads are the references of workloads outside of their PodTemplateSpec, and of kinds that
// act on workloads: HorizontalPodAutoscaler and PodDisruptionBudget.
func workloads() []table {
	sets := one(statefulSet, "spec.", append(
		claimSpec("template-", "volumeClaimTemplates[*].spec."),
		mayNeed("service", "serviceName", service),
	)...)
	return []table{
		sets,
		one(serviceAccount, "",
			mayNeed("secret", "secrets[*].name", secret),
			mayNeed("pull-secret", "imagePullSecrets[*].name", secret)),
		one(kind("autoscaling", "HorizontalPodAutoscaler"), "spec.",
			typed("target", "scaleTargetRef", schema.GroupKind{}).actsOn(),
			typed("metric", "metrics[*].object.describedObject", schema.GroupKind{})),
		one(kind("policy", "PodDisruptionBudget"), "spec.", selects("pods", "selector", pod, bySelector)),
	}
}
