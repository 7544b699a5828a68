package openstack

import (
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/internal/gen/emit"
)

// File is the name of the generated file.
const File = "zz_generated.kinds.go"

var optional = []string{"+optional"}

// Package declares the repeated types of all kinds.
func Package() emit.Package {
	var all []emit.Declaration
	var register strings.Builder
	for _, k := range Kinds {
		all = append(all, k.types()...)
		all = append(all, k.getters()...)
		fmt.Fprintf(&register, "&%s{}, &%sList{},\n", k.Name, k.Name)
	}
	all = append(all, emit.Func{
		Name: "AddToScheme", Signature: "(scheme *runtime.Scheme) error",
		Doc: "AddToScheme adds this package's kinds to a scheme.",
		Body: "scheme.AddKnownTypes(GroupVersion,\n" + register.String() + ")\n" +
			"metav1.AddToGroupVersion(scheme, GroupVersion)\nreturn nil",
	})
	const module = "github.com/kinship-dev/kinship"
	return emit.Package{
		Name: "v1alpha1", Generator: "internal/gen/openstack", Module: module,
		Imports: []emit.Import{
			{Name: "cmp", Path: "cmp"},
			{Name: "metav1", Path: "k8s.io/apimachinery/pkg/apis/meta/v1"},
			{Name: "runtime", Path: "k8s.io/apimachinery/pkg/runtime"},
			{Name: "sharedv1alpha1", Path: module + "/api/shared/v1alpha1"},
		},
		Declared: []string{"GroupVersion"},
		Files:    []emit.File{{Name: File, Declarations: all}},
	}
}

// types returns the Go types of a kind, such as Network, NetworkList, NetworkSpec, NetworkImport
// and NetworkStatus.
func (k Kind) types() []emit.Declaration {
	if k.Identity == ByHand {
		return []emit.Declaration{k.object(), k.list()}
	}
	return []emit.Declaration{k.object(), k.list(), k.spec(), k.imports(), k.status()}
}

func (k Kind) object() emit.Declaration {
	return emit.Struct{
		Name: k.Name, Doc: k.Name + " " + k.Doc,
		Markers: append([]string{
			"+kubebuilder:object:root=true", "+kubebuilder:subresource:status",
			"+kubebuilder:resource:scope=Namespaced,categories=openstack",
		}, k.columns()...),
		Fields: []emit.Field{
			{Type: "metav1.TypeMeta", JSON: ",inline"},
			{Type: "metav1.ObjectMeta", JSON: "metadata,omitempty"},
			{Name: "Spec", Type: k.Name + "Spec", JSON: "spec"},
			{Name: "Status", Type: k.Name + "Status", JSON: "status,omitempty", Markers: optional},
		},
	}
}

// columns returns the markers "+kubebuilder:printcolumn".
func (k Kind) columns() []string {
	var columns []Column
	if k.Identity == ByUUID || k.Identity == ByText {
		columns = append(columns, Column{"ID", ".status.id"})
	}
	columns = append(columns, Column{"Available", ".status.conditions[?(@.type=='Available')].status"})
	if k.Column != nil {
		columns = append(columns, *k.Column)
	}
	columns = append(columns, Column{"Message", ".status.conditions[?(@.type=='Progressing')].message"})
	markers := make([]string, 0, len(columns))
	for _, c := range columns {
		markers = append(markers, fmt.Sprintf(`+kubebuilder:printcolumn:name=%q,type="string",JSONPath=%q`, c.Name, c.Path))
	}
	return markers
}

func (k Kind) list() emit.Declaration {
	return emit.Struct{
		Name: k.Name + "List", Doc: fmt.Sprintf("%sList is a list of %s objects.", k.Name, k.Name),
		Markers: []string{"+kubebuilder:object:root=true"},
		Fields: []emit.Field{
			{Type: "metav1.TypeMeta", JSON: ",inline"},
			{Type: "metav1.ListMeta", JSON: "metadata,omitempty"},
			{Name: "Items", Type: "[]" + k.Name, JSON: "items"},
		},
	}
}

func (k Kind) spec() emit.Declaration {
	return emit.Struct{
		Name: k.Name + "Spec", Markers: k.SpecMarkers,
		Doc: fmt.Sprintf("%sSpec describes %s: the desired state in Resource, or an existing resource in Import.",
			k.Name, k.Noun),
		Fields: []emit.Field{
			{Type: "CommonSpec", JSON: ",inline"},
			{
				Name: "Import", Type: "*" + k.Name + "Import", JSON: "import,omitempty", Markers: optional,
				Doc: "Import finds the existing resource that the object represents.",
			},
			{
				Name: "Adopt", Type: "*" + k.Name + "Import", JSON: "adopt,omitempty", Markers: optional,
				Doc: "Adopt finds an existing resource to manage, instead of creating a resource.",
			},
			{
				Name: "Resource", Type: "*" + k.Name + "ResourceSpec", JSON: "resource,omitempty", Markers: optional,
				Doc: "Resource is the desired state of the resource.",
			},
		},
	}
}

// imports returns the type of spec.import and spec.adopt, such as NetworkImport.
func (k Kind) imports() emit.Declaration {
	d := emit.Struct{
		Name: k.Name + "Import", Doc: k.Name + "Import finds an existing resource, by its id or by a filter.",
		Markers: []string{"+kubebuilder:validation:MinProperties=1", "+kubebuilder:validation:MaxProperties=1"},
	}
	id := emit.Field{Name: "ID", Type: "*UUID", JSON: "id,omitempty", Doc: "ID of the resource.", Markers: optional}
	switch k.Identity {
	case ByText:
		id.Type, id.Doc = "*string", "ID of the resource, which is its name."
		id.Markers = []string{"+optional", "+kubebuilder:validation:MaxLength=1024"}
		d.Fields = append(d.Fields, id)
	case ByFilter:
		d.Doc = k.Name + "Import finds an existing resource by a filter."
	default:
		d.Fields = append(d.Fields, id)
	}
	d.Fields = append(d.Fields, emit.Field{
		Name: "Filter", Type: "*" + k.Name + "Filter", JSON: "filter,omitempty", Markers: optional,
		Doc: "Filter that must match exactly 1 resource.",
	})
	return d
}

func (k Kind) status() emit.Declaration {
	return emit.Struct{
		Name: k.Name + "Status", Doc: fmt.Sprintf("%sStatus is the observed state of %s.", k.Name, k.Noun),
		Fields: append([]emit.Field{
			{Type: "sharedv1alpha1." + k.externalStatus(), JSON: ",inline"},
			{
				Name: "Resource", Type: "*" + k.Name + "ResourceStatus", JSON: "resource,omitempty", Markers: optional,
				Doc: "Resource is the state that OpenStack last reported.",
			},
		}, k.StatusFields...),
	}
}

// externalStatus returns the embedded type of the status: AnonymousStatus for a resource without id.
func (k Kind) externalStatus() string {
	if k.Identity == ByFilter {
		return "AnonymousStatus"
	}
	return "ExternalStatus"
}

// rule returns the marker "+kubebuilder:validation:XValidation" of a CEL rule.
func rule(cel, message string) string {
	return fmt.Sprintf("+kubebuilder:validation:XValidation:rule=%q,message=%q", cel, message)
}
