package azure

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/emit"
)

const module = "github.com/kinship-dev/kinship"

// notCopied are the markers of structs in ARM: no object holds these.
var notCopied = []string{"+kubebuilder:object:generate=false"}

// GoPackage is a typed package, and the folder below api/azure where it is.
type GoPackage struct {
	Folder string
	emit.Package
}

// GoPackages declares the typed packages: one for each group and version of the default resources. doc.go
// of each declares GroupVersion.
func GoPackages(m Model) []GoPackage {
	kinds := map[string]string{}
	byGroup := map[string][]Resource{}
	for _, r := range m.Resources {
		kinds[r.Type] = r.Kind.Kind
		if r.Default {
			byGroup[r.Group] = append(byGroup[r.Group], r)
		}
	}
	packages := make([]GoPackage, 0, len(byGroup))
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		w := goWriter{owners: kinds, structs: map[string]string{}}
		for _, r := range byGroup[group] {
			for _, suffix := range []string{"", "List", "Status", "Spec", "SpecArm"} {
				w.structs[r.Kind.Kind+suffix] = "reserved"
			}
		}
		for _, r := range byGroup[group] {
			w.resource(r)
		}
		packages = append(packages, w.pack(byGroup[group]))
	}
	return packages
}

// goWriter collects the declarations of a package.
type goWriter struct {
	kind     string            // of the resource that is being written
	owners   map[string]string // the kinds of ARM types
	structs  map[string]string // the text of the fields by the name of the struct
	declared []emit.Declaration
}

func (w *goWriter) pack(resources []Resource) GoPackage {
	var register strings.Builder
	for _, r := range resources {
		fmt.Fprintf(&register, "&%s{}, &%sList{},\n", r.Kind.Kind, r.Kind.Kind)
	}
	w.declared = append(w.declared, emit.Func{
		Name: "AddToScheme", Signature: "(scheme *runtime.Scheme) error",
		Doc: "AddToScheme adds this package's kinds to a scheme.",
		Body: "scheme.AddKnownTypes(GroupVersion,\n" + register.String() + ")\n" +
			"metav1.AddToGroupVersion(scheme, GroupVersion)\nreturn nil",
	})
	group, version := resources[0].Group, resources[0].Version
	provider := strings.TrimSuffix(strings.TrimPrefix(group, "microsoft."), catalogue.GroupSuffix)
	return GoPackage{Folder: path.Join(provider, version), Package: emit.Package{
		Name: version, Generator: "armgen", Module: module,
		Imports: []emit.Import{
			{Name: "metav1", Path: "k8s.io/apimachinery/pkg/apis/meta/v1"},
			{Name: "runtime", Path: "k8s.io/apimachinery/pkg/runtime"},
			{Name: "intstr", Path: "k8s.io/apimachinery/pkg/util/intstr"},
			{Name: "catalogue", Path: module + "/api/azure/catalogue"},
			{Name: "sharedv1alpha1", Path: module + "/api/shared/v1alpha1"},
		},
		Declared: []string{"GroupVersion"},
		Files:    []emit.File{{Name: "zz_generated.kinds.go", Declarations: w.declared}},
	}}
}

// resource declares the object, the list, the spec, its ARM form, and the status of a kind.
func (w *goWriter) resource(r Resource) {
	w.kind = r.Kind.Kind
	optional := func(name, goType, json, doc string) emit.Field {
		return emit.Field{Name: name, Type: goType, JSON: json + ",omitempty", Doc: doc}
	}
	w.declared = append(w.declared,
		emit.Struct{
			Name: w.kind, Doc: fmt.Sprintf("%s is %s in api-version %s.", w.kind, r.Type, r.APIVersion),
			Markers: []string{"+kubebuilder:object:root=true"},
			Fields: []emit.Field{
				{Type: "metav1.TypeMeta", JSON: ",inline"},
				{Type: "metav1.ObjectMeta", JSON: "metadata,omitempty"},
				{Name: "Spec", Type: w.kind + "Spec", JSON: "spec"},
				{Name: "Status", Type: w.kind + "Status", JSON: "status,omitempty"},
			},
		},
		emit.Struct{
			Name: w.kind + "List", Doc: fmt.Sprintf("%sList is a list of %s objects.", w.kind, w.kind),
			Markers: []string{"+kubebuilder:object:root=true"},
			Fields: []emit.Field{
				{Type: "metav1.TypeMeta", JSON: ",inline"},
				{Type: "metav1.ListMeta", JSON: "metadata,omitempty"},
				{Name: "Items", Type: "[]" + w.kind, JSON: "items"},
			},
		},
		emit.Struct{
			Name: w.kind + "Status", Doc: fmt.Sprintf("%sStatus is the observed state of a %s.", w.kind, w.kind),
			Fields: []emit.Field{
				{Type: "sharedv1alpha1.ExternalStatus", JSON: ",inline"},
				optional("Resource", "*runtime.RawExtension", "resource", "Resource is the ARM body that was last read."),
				optional("Unknown", "[]string", "unknown", "Unknown lists the properties that the schema doesn't know."),
			},
		})
	owner := optional("OwnerRef", "*catalogue.Reference", catalogue.OwnerField, "OwnerRef names the owner.")
	if r.Owner != "" {
		owner.Doc = "OwnerRef names the owner, of " + r.Owner + "."
		owner.Tags = fmt.Sprintf("group:%q kind:%q", catalogue.GroupOf(r.Owner), w.owners[r.Owner])
	}
	spec := slices.Concat([]emit.Field{
		{Type: "sharedv1alpha1.ExternalSpec", JSON: ",inline"},
		optional("AzureName", "*string", catalogue.AzureNameField, "AzureName in ARM. It defaults to metadata.name."),
		owner,
		optional("Import", "*catalogue.Import", "import", "Import names the resource that the object stands for."),
		optional("CredentialsRef", "*catalogue.CredentialsReference", "credentialsRef", "CredentialsRef names a Secret."),
	}, w.fields(r.Body, w.kind, false), []emit.Field{
		optional("Raw", "[]catalogue.RawValue", catalogue.RawField, "Raw sets values that the schema doesn't know."),
	})
	arm := slices.Concat([]emit.Field{
		optional("Name", "string", "name", ""), optional("Type", "string", "type", ""),
		optional("APIVersion", "string", "apiVersion", ""),
	}, w.fields(r.Body, w.kind, true), []emit.Field{{Name: "Raw", Type: "[]catalogue.RawValue", JSON: "-"}})
	w.declared = append(w.declared,
		emit.Struct{Name: w.kind + "Spec", Doc: w.kind + "Spec is the desired state of a " + w.kind + ".", Fields: spec},
		emit.Struct{
			Name: w.kind + "SpecArm", Doc: w.kind + "SpecArm is the form of a " + w.kind + "Spec in ARM.",
			Markers: notCopied, Fields: arm,
		})
	w.methods(r)
}

// methods declares ToArm and FromArm.
func (w *goWriter) methods(r Resource) {
	call := fmt.Sprintf("%q, %q", r.Type, r.APIVersion)
	w.declared = append(w.declared,
		emit.Func{
			Receiver: "s " + w.kind + "SpecArm", Name: "MarshalJSON", Signature: "() ([]byte, error)",
			Doc:  "MarshalJSON adds Raw.",
			Body: "type plain " + w.kind + "SpecArm\nreturn catalogue.MarshalTyped(plain(s), s.Raw)",
		},
		emit.Func{
			Receiver: "s *" + w.kind + "Spec", Name: "ToArm", Signature: "(parentArmID string) (any, error)",
			Doc:  "ToArm returns a *" + w.kind + "SpecArm. Each reference has to be in the form azure or self.",
			Body: "return s.ToArmWith(catalogue.Conversion{Parent: parentArmID})",
		},
		emit.Func{
			Receiver: "s *" + w.kind + "Spec", Name: "ToArmWith",
			Signature: "(with catalogue.Conversion) (*" + w.kind + "SpecArm, error)",
			Doc:       "ToArmWith is ToArm that finds the ARM ids of objects in Kubernetes.",
			Body:      "out := &" + w.kind + "SpecArm{Raw: s.Raw}\nreturn out, catalogue.ToTyped(" + call + ", s, with, out)",
		},
		emit.Func{
			Receiver: "s *" + w.kind + "Spec", Name: "FromArm", Signature: "(input any) error",
			Doc: "FromArm sets the spec to that of an ARM body, such as a *" + w.kind + "SpecArm. The owner is kept.",
			Body: "out := &" + w.kind + "Spec{}\nif err := catalogue.FromTyped(" + call +
				", input, catalogue.Conversion{}, out); err != nil {\nreturn err\n}\n" +
				"out.ExternalSpec, out.OwnerRef, out.Import, out.CredentialsRef = " +
				"s.ExternalSpec, s.OwnerRef, s.Import, s.CredentialsRef\n*s = *out\nreturn nil",
		})
}

// fields returns the fields of an object, in Kubernetes or in ARM. name is that of structs without a
// definition.
func (w *goWriter) fields(t *Type, name string, arm bool) []emit.Field {
	var fields, nested []emit.Field
	for _, p := range t.Props {
		json := p.Name
		if arm {
			json = p.ARM
		}
		goType := w.goType(p.Type, name+exported(p.ARM), arm)
		field := emit.Field{Name: exported(json), Type: goType, JSON: json + ",omitzero"} // an empty list is kept
		if !strings.HasPrefix(goType, "[]") && !strings.HasPrefix(goType, "map[") {
			field.Type, field.JSON = "*"+goType, json+",omitempty"
		}
		if arm && p.Nested {
			nested = append(nested, field)
		} else {
			fields = append(fields, field)
		}
	}
	if len(nested) > 0 {
		inner := w.declare(name+"PropertiesArm", "the properties of "+name+" in ARM", nested)
		fields = append(fields, emit.Field{Name: "Properties", Type: "*" + inner, JSON: "properties,omitempty"})
	}
	return fields
}

// goType returns the Go type of a value. Where the schema allows any value, that is a RawExtension.
func (w *goWriter) goType(t *Type, name string, arm bool) string {
	switch t.Type {
	case catalogue.Object:
		if t.Open {
			return "map[string]runtime.RawExtension"
		}
		return w.object(t, name, arm)
	case catalogue.List:
		return "[]" + w.goType(t.Element, name, arm)
	case catalogue.Map:
		return "map[string]" + w.goType(t.Element, name, arm)
	case catalogue.IDMap:
		value := w.goType(t.Element, name, arm)
		if arm {
			return "map[string]" + value
		}
		return "[]" + w.declare(name+"Entry", "an entry of "+name, []emit.Field{
			{Name: "Ref", Type: "catalogue.Reference", JSON: "ref"}, {Name: "Value", Type: "*" + value, JSON: "value,omitempty"},
		})
	case catalogue.Secret:
		switch {
		case !arm:
			return "catalogue.SecretKey"
		case t.Open:
			return "runtime.RawExtension"
		}
		return "string"
	case catalogue.ID, catalogue.IDObject:
		switch {
		case !arm:
			return "catalogue.Reference"
		case t.Type == catalogue.ID:
			return "string"
		}
		return w.declare("IDArm", "an object with an ARM id", []emit.Field{{Name: "ID", Type: "string", JSON: "id"}})
	default:
		return map[catalogue.Type]string{
			catalogue.String: "string", catalogue.Integer: "int64", catalogue.Number: "float64", catalogue.Boolean: "bool",
			catalogue.IntOrString: "intstr.IntOrString", catalogue.Any: "runtime.RawExtension",
		}[t.Type]
	}
}

// object declares the struct of an object. An object that is the same in ARM has one struct for both.
func (w *goWriter) object(t *Type, name string, arm bool) string {
	if t.Definition != "" {
		name = exported(t.name())
	}
	about := name + " of the schema"
	plain := w.fields(t, name, false)
	if !arm {
		return w.declare(name, about, plain)
	}
	inARM := w.fields(t, name, true)
	if fmt.Sprint(plain) == fmt.Sprint(inARM) {
		return w.declare(name, about, plain)
	}
	return w.declare(name+"Arm", about+" in ARM", inARM)
}

// declare declares a struct, and returns its name. If another struct has the name, the kind is put in
// front.
func (w *goWriter) declare(name, about string, fields []emit.Field) string {
	text := fmt.Sprint(fields)
	for _, candidate := range []string{name, w.kind + name, w.kind + name + "2", w.kind + name + "3"} {
		before, taken := w.structs[candidate]
		if taken && before != text {
			continue
		}
		if !taken {
			w.structs[candidate] = text
			s := emit.Struct{Name: candidate, Doc: candidate + " is " + about + ".", Fields: fields}
			if strings.HasSuffix(name, "Arm") {
				s.Markers = notCopied
			}
			w.declared = append(w.declared, s)
		}
		return candidate
	}
	panic("four structs have the name " + name)
}

// exported returns the Go name of a property or of a definition.
func exported(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
	for _, word := range []string{"Id", "Ip", "Api", "Url", "Uri"} {
		if stem, ok := strings.CutSuffix(upperFirst(name), word); ok {
			return stem + strings.ToUpper(word)
		}
	}
	return upperFirst(name)
}
