package openstack

import "github.com/kinship-dev/kinship/internal/gen/emit"

// getters returns the methods of a kind: GetExternalSpec, GetExternalStatus and GetImport of
// external.Object, and the getters that internal/pack/openstack/kit needs.
func (k Kind) getters() []emit.Declaration {
	status := k.getter("GetExternalStatus", "() *sharedv1alpha1.ExternalStatus",
		"returns the part of the status that pkg/external writes.", "return &o.Status.ExternalStatus")
	if k.Identity == ByFilter {
		status.Body = "return (*sharedv1alpha1.ExternalStatus)(&o.Status.AnonymousStatus)"
	}
	if k.Identity == ByHand {
		return []emit.Declaration{status}
	}
	getters := []emit.Declaration{
		k.getter("GetCommonSpec", "() *CommonSpec",
			"returns the part of the spec that all kinds but RouterInterface share.", "return &o.Spec.CommonSpec"),
		k.getter("GetExternalSpec", "() *sharedv1alpha1.ExternalSpec",
			"returns the part of the spec that pkg/external reads.", "return &o.Spec.ExternalSpec"),
		status,
		k.getImport(),
		k.getter("GetFilter", "() *"+k.Name+"Filter", "returns the filter of Import or Adopt, or nil.",
			`if i := cmp.Or(o.Spec.Import, o.Spec.Adopt); i != nil {
	return i.Filter
}
return nil`),
		k.getter("GetResource", "() *"+k.Name+"ResourceSpec", "returns the desired state of the resource, or nil.",
			"return o.Spec.Resource"),
	}
	if !k.Unnamed {
		getters = append(getters, k.getter("GetResourceName", "() string",
			"returns the desired name of the resource: spec.resource.name, or else metadata.name.",
			`if spec := o.Spec.Resource; spec != nil && spec.Name != nil {
	return string(*spec.Name)
}
return o.Name`))
	}
	return getters
}

func (k Kind) getImport() emit.Declaration {
	const signature = "() (id string, asked bool)"
	if k.Identity == ByFilter {
		return k.getter("GetImport", signature,
			"returns whether an existing resource is imported or adopted. The id is always empty, since the "+
				"resource has none.",
			`return "", cmp.Or(o.Spec.Import, o.Spec.Adopt) != nil`)
	}
	id := "string(*i.ID)"
	if k.Identity == ByText {
		id = "*i.ID"
	}
	return k.getter("GetImport", signature,
		"returns whether an existing resource is imported or adopted, and the id that Import or Adopt gives.",
		`i := cmp.Or(o.Spec.Import, o.Spec.Adopt)
if i == nil || i.ID == nil {
	return "", i != nil
}
return `+id+`, true`)
}

// getter returns a method of the kind. In the body the receiver is o.
func (k Kind) getter(name, signature, doc, body string) emit.Func {
	return emit.Func{
		Receiver: "o *" + k.Name, Name: name, Signature: signature,
		Doc: name + " " + doc, Body: body,
	}
}
