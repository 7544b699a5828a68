package lineage

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

var apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}

// brokenGroups says which API groups keep a namespace from being deleted: the namespace
// controller deletes nothing for good before each group has told what kinds it has.
func (x *explainer) brokenGroups(ctx context.Context, n *Node) ([]*Finding, error) {
	const why = "and no namespace goes before its server answers or the APIService is deleted"
	k, ok := x.catalog.Kind(apiServiceKind)
	if !ok {
		return nil, nil
	}
	objects, err := x.listFull(ctx, k, "")
	if err != nil {
		return x.silentGroups(n), x.skip(ctx, k, Skipped{}, err)
	}
	var findings []*Finding
	for _, obj := range objects {
		service := x.node(object.Of(obj, apiServiceKind))
		service.take(obj)
		failing, broken := failingCondition(service)
		if !broken {
			continue
		}
		findings = append(findings, &Finding{
			About: service.ID, Topic: AboutBlocker, first: true,
			Text: fmt.Sprintf("%s does not serve, %s: %s", service.ID, why, say(failing)),
			Next: fmt.Sprintf("see why %s does not serve (%s), and mend that; if its server is gone for good, delete %s; "+
				"a cluster administrator has to act", service.ID, say(failing), service.ID),
		})
	}
	return findings, nil
}

// silentGroups says which groups did not answer us, for those who may not list APIServices.
func (x *explainer) silentGroups(n *Node) []*Finding {
	var findings []*Finding
	for _, s := range x.Skipped() {
		if s.Resource != "*" || slices.ContainsFunc(findings, func(f *Finding) bool { return f.About.Group == s.Group }) {
			continue
		}
		findings = append(findings, &Finding{
			About: object.ID{Group: s.Group}, Topic: AboutBlocker, first: true,
			Text: fmt.Sprintf("API group %s does not answer, and no namespace goes before it does: %s", s.Group, s.Reason),
			Next: fmt.Sprintf("ask a cluster administrator to see why the APIService of group %s does not serve; "+
				"%s waits for that", s.Group, n.ID),
		})
	}
	return findings
}
