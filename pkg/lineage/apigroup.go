package lineage

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

var apiServiceKind = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}

// apiGroupFindings returns the APIServices that block the deletion of a namespace. The
// namespace controller lists the kinds of all API groups before it removes its finalizer,
// so 1 API group without an answer blocks the deletion of every namespace.
func (x *explainer) apiGroupFindings(ctx context.Context, n *Node) []*Finding {
	k, ok := x.catalog.Kind(apiServiceKind)
	if !ok {
		return nil
	}
	objects, err := x.listObjects(ctx, k, "")
	if err != nil {
		x.skip(k, Skipped{}, err)
		return x.silentGroupFindings(n)
	}
	var findings []*Finding
	for _, obj := range objects {
		service := x.node(object.Of(obj, apiServiceKind))
		service.setObject(obj)
		failing, broken := failingCondition(service)
		if !broken {
			continue
		}
		findings = append(findings, &Finding{
			About: service.ID, Topic: aboutBlocker, first: true,
			Text: fmt.Sprintf("%s is not available, and no namespace is deleted until its server answers or it is deleted: %s",
				service.ID, describe(failing)),
			Next: fmt.Sprintf("find out why %s is not available (%s), and repair its server; if the server is gone for good, "+
				"delete %s; this is a task for a cluster administrator", service.ID, describe(failing), service.ID),
		})
	}
	return findings
}

// silentGroupFindings returns the API groups whose discovery failed, for users who may
// not list APIServices.
func (x *explainer) silentGroupFindings(n *Node) []*Finding {
	var findings []*Finding
	for _, s := range x.Skipped() {
		if s.Resource != "*" || slices.ContainsFunc(findings, func(f *Finding) bool { return f.About.Group == s.Group }) {
			continue
		}
		findings = append(findings, &Finding{
			About: object.ID{Group: s.Group}, Topic: aboutBlocker, first: true,
			Text: fmt.Sprintf("API group %s does not answer, and no namespace is deleted until it does: %s", s.Group, s.Reason),
			Next: fmt.Sprintf("ask a cluster administrator to find out why the APIService of group %s is not available; "+
				"%s waits for it", s.Group, n.ID),
		})
	}
	return findings
}
