package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/usage"
)

// setting contains the inputs of install.Objects.
type setting struct {
	options          options.Options
	mutatingPolicies bool
}

// axis is a value of the chart on which objects depend, such as $.Values.enforcement.
type axis struct {
	// condition is true in a template if the axis is on.
	condition string
	// packs are the names of the packs that the axis concerns. Empty means all.
	packs []string
	turn  func(*setting)
}

// axes are all values on which objects depend, besides the packs.
var axes = []axis{
	{`eq $.Values.enforcement "policy"`, nil, func(s *setting) { s.options.Enforcement = pack.ByPolicy }},
	{`eq (include "kinship.mutatingPolicies" $) "true"`, []string{"usage"}, func(s *setting) {
		s.mutatingPolicies = true
	}},
	{`$.Values.namespaces`, nil, func(s *setting) { s.options.Namespaces = []string{namespaceMark} }},
	{`$.Values.packs.usage.kinds`, []string{"usage"}, func(s *setting) {
		s.options.Usage.Kinds, s.options.Usage.Using = usedMark, usingMark
	}},
	{`eq $.Values.packs.usage.liftedBy "admin"`, []string{"usage"}, func(s *setting) {
		s.options.Usage.LiftedBy = usage.LiftedByAdmin
	}},
	{`eq $.Values.packs.usage.liftedBy "none"`, []string{"usage"}, func(s *setting) {
		s.options.Usage.LiftedBy = usage.LiftedByNone
	}},
	{`$.Values.packs.oam.kinds`, []string{"oam"}, func(s *setting) { s.options.Oam.Kinds = oamMark }},
	{`eq $.Values.packs.iot.identity "pod-identity"`, []string{"iot"}, func(s *setting) {
		s.options.Iot.Identity = iot.PodIdentity
	}},
}

// variants are the objects of an installation of one pack, for all combinations of its axes.
type variants struct {
	axes []axis
	// keys are kind, namespace and name of all objects, in the order of install.Objects.
	keys []string
	// texts are the manifests of each object, by the number of the combination: the first axis is
	// the highest bit. A combination without the object has an empty text.
	texts map[string][]string
	// guards are the keys of the guards that go with their pack: all but the lasting policies.
	guards map[string]bool
}

// render renders the objects of a pack for all combinations.
func render(packName string) (*variants, error) {
	v := &variants{texts: map[string][]string{}, guards: map[string]bool{}}
	for _, a := range axes {
		if len(a.packs) == 0 || slices.Contains(a.packs, packName) {
			v.axes = append(v.axes, a)
		}
	}
	combinations := 1 << len(v.axes)
	for i := range combinations {
		s := setting{options: options.Options{
			Packs: []string{packName}, Version: versionMark, Enforcement: pack.ByWebhook,
		}}
		for bit, a := range v.axes {
			if i&(combinations>>(bit+1)) != 0 {
				a.turn(&s)
			}
		}
		if err := v.add(s, i, combinations); err != nil {
			return nil, fmt.Errorf("render pack %s: %w", packName, err)
		}
	}
	v.releaseConditional()
	return v, nil
}

// releaseConditional has Helm remove the policies that some combinations lack: a policy that depends on a value, such
// as $.Values.enforcement, must not stay after a change of the value.
func (v *variants) releaseConditional() {
	kept := "  annotations:\n" + when("$.Values.crds.keep", "    "+keepAnnotation+": keep\n")
	for _, key := range v.keys {
		if !isGuard(key) || !slices.Contains(v.texts[key], "") {
			continue
		}
		for i, text := range v.texts[key] {
			v.texts[key][i] = strings.Replace(text, kept, "", 1)
		}
	}
}

// add adds the objects of combination i.
func (v *variants) add(s setting, i, combinations int) error {
	objects, err := install.Objects(s.options, s.mutatingPolicies)
	if err != nil {
		return err
	}
	scheme, err := options.NewScheme(options.Options{})
	if err != nil {
		return err
	}
	own := packNamed(s.options.Packs[0])
	for _, obj := range objects {
		if _, ok := obj.(*corev1.Namespace); ok {
			continue // Helm creates the namespace of a release.
		}
		key, text, err := manifest(scheme, obj, install.IsLasting(own, obj))
		if err != nil {
			return err
		}
		if isGuard(key) && !install.IsLasting(own, obj) {
			v.guards[key] = true
		}
		if v.texts[key] == nil {
			v.keys = append(v.keys, key)
			v.texts[key] = make([]string, combinations)
		}
		v.texts[key][i] = text
	}
	return nil
}

// packNamed returns a pack with default options.
func packNamed(name string) pack.Pack {
	all := options.Packs(options.Options{})
	return all[slices.IndexFunc(all, func(p pack.Pack) bool { return p.Name == name })]
}

// isGuard reports whether an object is a webhook configuration, a policy or a binding of a policy.
func isGuard(key string) bool {
	kind, _, _ := strings.Cut(key, " ")
	return strings.Contains(kind, "WebhookConfiguration") || strings.Contains(kind, "AdmissionPolicy")
}

// manifest returns the key and the YAML of an object. A lasting policy, and a definition, have the keepAnnotation.
func manifest(scheme *runtime.Scheme, obj client.Object, lasting bool) (key, text string, err error) {
	u, err := pack.Manifest(scheme, obj)
	if err != nil {
		return "", "", err
	}
	key = fmt.Sprintf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName())
	if isDefinition(key) || lasting {
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[keepAnnotation] = "keep"
		u.SetAnnotations(annotations)
	}
	return key, document(u), nil
}

// document returns an object as a YAML document of a template.
func document(u *unstructured.Unstructured) string {
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		panic(err) // A converted object always has a YAML form.
	}
	return "---\n" + expand(strings.ReplaceAll(string(text), "{{", `{{ "{{" }}`))
}

// template returns the template of an object.
func (v *variants) template(key string) string {
	text := conditional(v.texts[key], v.axes)
	if key == accountKey {
		text = strings.Replace(text, "\nmetadata:\n", "\nmetadata:\n"+accountAnnotations, 1)
	}
	switch _, place, _ := strings.Cut(key, " "); {
	case strings.HasPrefix(place, namespaceMark+"/"):
		return perNamespace(text)
	case strings.HasPrefix(place, "default/"): // Events of cluster-scoped objects are in this namespace.
		return when(`not (has "default" $.Values.namespaces)`, text)
	default:
		return text
	}
}

// conditional returns a template with the text of each combination under the condition of each
// axis.
func conditional(texts []string, axes []axis) string {
	if !slices.ContainsFunc(texts, func(text string) bool { return text != texts[0] }) {
		return texts[0]
	}
	half := len(texts) / 2
	off, on := texts[:half], texts[half:]
	if slices.Equal(off, on) {
		return conditional(off, axes[1:])
	}
	return choice(axes[0].condition, conditional(on, axes[1:]), conditional(off, axes[1:]))
}

// choice returns a template with the text `then` if the condition is true, and the text `otherwise`
// if not.
func choice(condition, then, otherwise string) string {
	switch {
	case otherwise == "":
		return when(condition, then)
	case then == "":
		return when("not ("+condition+")", otherwise)
	default:
		return "{{- if " + condition + " }}\n" + then + "{{- else }}\n" + otherwise + "{{- end }}\n"
	}
}

// when returns a template with a text if the condition is true.
func when(condition, text string) string {
	return "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
}
