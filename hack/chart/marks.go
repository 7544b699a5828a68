package main

import (
	"regexp"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
)

// keepAnnotation makes Helm keep an object at `helm uninstall`, and at a `helm upgrade` without the object.
const keepAnnotation = "helm.sh/resource-policy"

// namespaceMark, versionMark and webhookMark stand for values of the chart in rendered manifests.
// expand replaces each mark by a template expression. No other text of a manifest contains a mark.
const (
	namespaceMark = "mark-namespace"
	versionMark   = "mark-version"
	webhookMark   = "mark-webhook"
)

var (
	usedMark  = []schema.GroupResource{{Group: "mark-used", Resource: "mark"}}
	usingMark = []schema.GroupResource{{Group: "mark-using", Resource: "mark"}}
	oamMark   = []schema.GroupResource{{Group: "mark-oam", Resource: "mark"}}
)

// namespaces is the list of namespaces in a template, as in options.Options.Namespaces: sorted, each
// once.
const namespaces = "uniq (sortAlpha $.Values.namespaces)"

var (
	namespaceItem = regexp.MustCompile(`(?m)^( *)- ` + namespaceMark + "\n")
	markedRule    = regexp.MustCompile(`- apiGroups:\n  - mark-(\w+)\n  resources:\n  - mark\n  verbs:\n((?:  - \w+\n)+)`)
	keepLine      = regexp.MustCompile(`(?m)^ *` + keepAnnotation + ": keep\n")
	webhookRule   = regexp.MustCompile(
		`- apiGroups:\n  - [a-z.0-9]+\n  resourceNames:\n  - ` + webhookMark +
			`\n  resources:\n(?:  - \w+\n)+  verbs:\n(?:  - \w+\n)+`)
)

// lists maps each mark to the list of kinds in values.yaml.
var lists = map[string]string{
	"used": "$.Values.packs.usage.kinds", "using": "$.Values.packs.usage.usingKinds", "oam": "$.Values.packs.oam.kinds",
}

// expand replaces the marks in a manifest by template expressions.
func expand(text string) string {
	text = strings.ReplaceAll(text, versionMark, `{{ $.Chart.AppVersion | replace "+" "_" | quote }}`)
	text = keepLine.ReplaceAllStringFunc(text, func(line string) string { return when("$.Values.crds.keep", line) })
	text = namespaceItem.ReplaceAllString(text,
		"{{- range "+strings.ReplaceAll(namespaces, "$", "$$")+" }}\n$1- {{ . | quote }}\n{{- end }}\n")
	return markedRule.ReplaceAllStringFunc(text, func(rule string) string {
		parts := markedRule.FindStringSubmatch(rule)
		return kindRules(lists[parts[1]], parts[2], parts[1] == "used")
	})
}

// kindRules returns the rules for the resources in a list, such as deployments.apps. If the list of
// used kinds has pods, kindRules adds the right to create pods/eviction.
func kindRules(list, verbs string, used bool) string {
	text := "{{- range " + list + " }}\n{{- $kind := splitn \".\" 2 . }}\n" +
		"- apiGroups:\n  - {{ $kind._1 | default \"\" | quote }}\n" +
		"  resources:\n  - {{ $kind._0 | quote }}\n  verbs:\n" + verbs
	if used {
		text += when(`eq . "pods"`,
			"- apiGroups:\n  - \"\"\n  resources:\n  - pods/eviction\n  verbs:\n  - create\n")
	}
	return text + "{{- end }}\n"
}

// perNamespace repeats an object in each of $.Values.namespaces.
func perNamespace(text string) string {
	return "{{- range $namespace := " + namespaces + " }}\n" +
		strings.ReplaceAll(text, "namespace: "+namespaceMark, "namespace: {{ $namespace | quote }}") + "{{- end }}\n"
}

// accountKey is the key of the ServiceAccount of the operator's Pods, options.Account.
const accountKey = "ServiceAccount " + options.Namespace + "/" + options.Account

// accountAnnotations adds annotations of the user, such as the client id of Azure workload identity, to the
// metadata of an object that has no annotations.
const accountAnnotations = `  {{- with $.Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
`

// engineKey is the key of the ClusterRole of options.Account. This ClusterRole names the webhook
// configurations of all packs.
var engineKey = "ClusterRole /" + options.Account

// engineRole returns the template of the ClusterRole of options.Account.
func engineRole(packs []string) (string, error) {
	var names strings.Builder
	var with []string
	var texts [2]string
	for _, name := range packs {
		role, own, err := engineOf(name)
		if err != nil {
			return "", err
		}
		if len(own) == 0 {
			continue
		}
		on := isOn(name)
		with = append(with, on)
		names.WriteString(when(on, "  - "+strings.Join(own, "\n  - ")+"\n"))
		texts = role
	}
	text := choice(axes[2].condition, texts[1], texts[0])
	return webhookRule.ReplaceAllStringFunc(text, func(rule string) string {
		return when("or "+strings.Join(with, " "), strings.ReplaceAll(rule, "  - "+webhookMark+"\n", names.String()))
	}), nil
}

// engineOf returns the ClusterRole of options.Account for one pack, without and with namespaces, and
// the webhook configurations of the pack.
func engineOf(packName string) (texts [2]string, names []string, err error) {
	scheme, err := options.NewScheme(options.Options{})
	if err != nil {
		return texts, nil, err
	}
	for i, in := range [][]string{nil, {namespaceMark}} {
		objects, err := install.Objects(options.Options{Packs: []string{packName}, Namespaces: in}, false)
		if err != nil {
			return texts, nil, err
		}
		for _, obj := range objects {
			role, ok := obj.(*rbacv1.ClusterRole)
			if !ok || role.Name != options.Account {
				continue
			}
			for j := range role.Rules {
				if len(role.Rules[j].ResourceNames) > 0 {
					names, role.Rules[j].ResourceNames = role.Rules[j].ResourceNames, []string{webhookMark}
				}
			}
			if _, texts[i], err = manifest(scheme, role, false); err != nil {
				return texts, nil, err
			}
		}
	}
	return texts, names, nil
}
