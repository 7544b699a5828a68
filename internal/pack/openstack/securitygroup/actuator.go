package securitygroup

import (
	"context"
	"net/http"
	"slices"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

const kind = "SecurityGroup"

type object = *openstackv1alpha1.SecurityGroup

// Table describes the requests for SecurityGroups.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Network, Names: names, Amend: amend,
	Dated: true,
	Path:  "security-groups", One: "security_group", Many: "security_groups", Fields: fields,
	Tags:  func(g object) []string { return kit.Texts(g.Spec.Resource.Tags) },
	Parts: []kit.Part[object]{{Name: rulesField, Differs: rulesDiffer}},
	Vital: []string{rulesField},
	Wrap:  func(a kit.Actuator[object]) kit.Requests[object] { return actuator{a} },
	References: kit.Bind[object]([]kit.Reference{
		// Neutron deletes a rule together with the group in its remote_group_id. Two groups often
		// name each other.
		{Target: kind, Field: "spec.resource.rules[].remoteGroupRef", Need: kit.Completed},
		{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Fixed("stateful", r.Stateful),
	}
}

const (
	// rulesField is the name of the rules in the result of Table.Differs.
	rulesField = "rules"
	// rulesPath is the path of the collection of all rules.
	rulesPath = "security-group-rules"
)

func rulesDiffer(in external.Input[object], r *kit.Resource) bool {
	add, remove := compare(in, r)
	return len(add)+len(remove) > 0
}

// actuator changes the rules in addition to the fields.
type actuator struct{ kit.Actuator[object] }

// Update implements external.Actuator.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, names []string,
) (*kit.Resource, error) {
	id := r.String("id")
	r, err := a.Actuator.Update(ctx, in, r, names)
	if err != nil || !slices.Contains(names, rulesField) {
		return r, err
	}
	add, remove := compare(in, r)
	if err := a.remove(ctx, sameButWords(add, remove)); err != nil {
		return r, err
	}
	for _, r := range add {
		err := kit.Call(ctx, a.Client, http.MethodPost, kit.Address(a.Client, rulesPath),
			map[string]any{"security_group_rule": r}, nil)
		if err != nil {
			return nil, kit.Retried(err)
		}
	}
	if err := a.remove(ctx, remove); err != nil {
		return r, err
	}
	return a.Get(ctx, in, id)
}

// remove deletes rules. A rule that does not exist any more is no error.
func (a actuator) remove(ctx context.Context, rules []rule) error {
	for i := range rules {
		if rules[i].ID == "" {
			continue
		}
		err := kit.Call(ctx, a.Client, http.MethodDelete, kit.Address(a.Client, rulesPath, rules[i].ID), nil, nil)
		if err != nil && !openstack.IsNotFound(err) {
			return kit.Explain(err)
		}
		rules[i].ID = ""
	}
	return nil
}
