{{- define "kinship.selector" -}}
app.kubernetes.io/name: kinship
app.kubernetes.io/component: operator
{{- end }}

{{- define "kinship.labels" -}}
{{ include "kinship.selector" . }}
app.kubernetes.io/part-of: kinship
{{- end }}

{{- define "kinship.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* true if the API server changes requests by policies. */ -}}
{{- define "kinship.mutatingPolicies" -}}
{{- if eq (toString .Values.mutatingAdmissionPolicies) "auto" -}}
{{- .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
{{- else -}}
{{- .Values.mutatingAdmissionPolicies -}}
{{- end -}}
{{- end }}

{{- /*
Not empty if a pack is on. auto is on if the last installation has the pack: its account is in the cluster, and was not
left out.
*/ -}}
{{- define "kinship.isOn" -}}
{{- $name := index . 1 -}}
{{- $enabled := (index (index . 0).Values.packs $name).enabled -}}
{{- if ne (toString $enabled) "auto" -}}
{{- if $enabled -}}true{{- end -}}
{{- else -}}
{{- $account := lookup "v1" "ServiceAccount" "kinship-system" (printf "kinship-%s" $name) -}}
{{- if and (eq (dig "metadata" "labels" "app.kubernetes.io/part-of" "" $account) "kinship")
  (not (dig "metadata" "annotations" "kinship.dev/left-out" "" $account)) -}}true{{- end -}}
{{- end -}}
{{- end }}

{{- /* The packs that are on, separated by commas, in the order of the operator. */ -}}
{{- define "kinship.packs" -}}
{{- $on := list -}}
{{- range $name := list "usage" "iot" "openstack" "oam" "azure" -}}
{{- if include "kinship.isOn" (list $ $name) -}}{{- $on = append $on $name -}}{{- end -}}
{{- end -}}
{{- join "," $on -}}
{{- end }}

{{- /*
Not empty if the guards of the pack usage stay although the pack is off: protection must not end by a value. The kinds are
looked up in the cluster, if the definitions are ours: Crossplane has kinds of the same names.
*/ -}}
{{- define "kinship.usageGuards" -}}
{{- if eq .Values.packs.usage.guardsWhenOff "always" -}}true
{{- else if eq .Values.packs.usage.guardsWhenOff "auto" -}}
{{- range list (list "protection.crossplane.io/v1beta1" "Usage" "usages.protection.crossplane.io")
  (list "protection.crossplane.io/v1beta1" "ClusterUsage" "clusterusages.protection.crossplane.io")
  (list "apiextensions.crossplane.io/v1alpha1" "Usage" "usages.apiextensions.crossplane.io") -}}
{{- $definition := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (index . 2) -}}
{{- if eq (dig "metadata" "labels" "app.kubernetes.io/part-of" "" $definition) "kinship" -}}
{{- if (lookup (index . 0) (index . 1) "" "").items -}}true{{- break -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* What no schema can say. */ -}}
{{- define "kinship.check" -}}
{{- if ne .Release.Namespace "kinship-system" }}
{{- fail "the namespace of the operator is kinship-system: install with --namespace kinship-system --create-namespace" }}
{{- end }}
{{- if not (include "kinship.packs" .) }}
{{- fail "all packs are off: set packs.usage.enabled, packs.openstack.enabled, packs.iot.enabled, packs.oam.enabled or packs.azure.enabled" }}
{{- end }}
{{- if has "kinship-system" .Values.namespaces }}
{{- fail "namespaces: kinship-system is the operator's own namespace: leave it out" }}
{{- end }}
{{- range .Values.packs.oam.kinds }}
{{- if regexMatch "\\.(rbac\\.authorization|admissionregistration|apiextensions|apiregistration|authentication|authorization|certificates)\\.k8s\\.io$|\\.infra\\.azure\\.com$|\\.openstack\\.k-orc\\.cloud$|\\.kinship\\.dev$" . }}
{{- fail (printf "packs.oam.kinds: the pack oam can't act on %s: it gives rights, or is a kind of another pack" .) }}
{{- end }}
{{- end }}
{{- range $name, $set := dict "oam" .Values.packs.oam.kinds "openstack" .Values.packs.openstack.hosts
  "azure" (or .Values.packs.azure.subscription .Values.packs.azure.endpoint (ne .Values.packs.azure.credential "secret")) }}
{{- if and $set (not (include "kinship.isOn" (list $ $name))) }}
{{- fail (printf "packs.%s has values, and the pack is off: set packs.%s.enabled to true" $name $name) }}
{{- end }}
{{- end }}
{{- if and .Values.packs.usage.usingKinds (not .Values.packs.usage.kinds) }}
{{- fail "packs.usage.usingKinds needs packs.usage.kinds: without it any kind may be used and use" }}
{{- end }}
{{- if and .Values.metrics.certManager.enabled (not .Values.metrics.certificateSecret) }}
{{- fail "metrics.certManager needs metrics.certificateSecret, the Secret to write" }}
{{- end }}
{{- end }}

{{- define "kinship.args" -}}
- operator
- --packs={{ include "kinship.packs" . }}
- --enforcement={{ .Values.enforcement }}
- --leader-elect=true
- --health-probe-bind-address=:8081
{{- with .Values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- if eq .Values.enforcement "webhook" }}
- --webhook-port=9443
{{- with .Values.admission.from }}
- --admission-from={{ join "," . }}
{{- end }}
{{- if .Values.admission.clientCAConfigMap }}
- --admission-client-ca=/etc/kinship/admission/ca.crt
{{- end }}
{{- with .Values.admission.maxObjectSize }}
- --max-object-size={{ int . }}
{{- end }}
{{- with .Values.admission.maxNamespaceSize }}
- --max-namespace-size={{ int . }}
{{- end }}
{{- end }}
{{- if .Values.metrics.enabled }}
- --metrics-bind-address=:8080
{{- if .Values.metrics.certificateSecret }}
- --metrics-cert-dir=/etc/kinship/metrics
{{- end }}
{{- else }}
- --metrics-bind-address=0
{{- end }}
{{- if include "kinship.isOn" (list . "usage") }}
{{- with .Values.packs.usage }}
{{- with .kinds }}
- --kinds={{ join "," . }}
{{- end }}
{{- with .usingKinds }}
- --using-kinds={{ join "," . }}
{{- end }}
{{- with .maxPerNamespace }}
- --usage-max-per-namespace={{ int . }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "kinship.isOn" (list . "openstack") }}
{{- with .Values.packs.openstack }}
- --openstack-conditions={{ .conditions }}
{{- with .hosts }}
- --openstack-hosts={{ join "," . }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "kinship.isOn" (list . "iot") }}
{{- with .Values.packs.iot }}
- --identity={{ .identity }}
{{- end }}
{{- end }}
{{- if and .Values.packs.oam.kinds (include "kinship.isOn" (list . "oam")) }}
- --oam-kinds={{ join "," .Values.packs.oam.kinds }}
{{- end }}
{{- if include "kinship.isOn" (list . "azure") }}
{{- with .Values.packs.azure }}
- --azure-credential={{ .credential }}
- --azure-submission={{ .submission }}
{{- with .endpoint }}
- --azure-endpoint={{ . }}
{{- end }}
{{- with .subscription }}
- --azure-subscription={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
