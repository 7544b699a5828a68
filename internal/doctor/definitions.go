package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// checkDefinitions checks that the CustomResourceDefinitions of the packs exist, are served, and
// are of this program's release.
func (d *doctor) checkDefinitions(ctx context.Context) (int, []Finding, error) {
	if len(d.chosen) == 0 {
		return 0, nil, nil
	}
	templates, err := install.Definitions(d.options)
	if err != nil {
		return 0, nil, err
	}
	skew, err := d.checkRelease(ctx)
	if err != nil {
		return 0, nil, err
	}
	d.skew = skew != nil
	var findings []Finding
	if skew != nil {
		findings = append(findings, *skew)
	}
	for _, obj := range templates {
		template := obj.(*apiextensionsv1.CustomResourceDefinition)
		live := &apiextensionsv1.CustomResourceDefinition{}
		err := d.client.Get(ctx, client.ObjectKeyFromObject(template), live)
		if client.IgnoreNotFound(err) != nil {
			return 0, nil, fmt.Errorf("read definition %s: %w", template.Name, err)
		}
		if apierrors.IsNotFound(err) {
			live = nil
		}
		if live != nil && live.DeletionTimestamp == nil && !install.IsOurs(live) {
			findings = append(findings, Finding{
				Object: definitionID(template.Name), Field: "metadata.labels[" + options.PartOfLabel + "]", Reason: "Foreign",
				Message: "another project has installed the definition",
				Action:  "remove it, or take it over with kinship operator --install --adopt",
			})
			continue
		}
		findings = append(findings, d.compareDefinition(live, template, reinstall)...)
	}
	enabled, err := d.checkAddedDefinitions(ctx)
	return len(templates) + len(d.additions), append(findings, enabled...), err
}

func definitionID(name string) object.ID {
	return object.ID{Group: relation.DefinitionKind.Group, Kind: relation.DefinitionKind.Kind, Name: name}
}

// installedVersion returns the app.kubernetes.io/version label of the installed CRDs, or "".
func (d *doctor) installedVersion(ctx context.Context) (string, error) {
	if len(d.chosen) == 0 {
		return "", nil
	}
	var names []string
	for _, p := range d.chosen {
		names = append(names, p.Definitions...)
	}
	for _, name := range append(names, rights.OwnDefinitions...) {
		live := &apiextensionsv1.CustomResourceDefinition{}
		err := d.client.Get(ctx, client.ObjectKey{Name: name}, live)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read definition %s: %w", name, err)
		}
		if install.IsOurs(live) && live.Labels[install.VersionLabel] != "" {
			return live.Labels[install.VersionLabel], nil
		}
	}
	return "", nil
}

// checkRelease returns a Finding VersionSkew if the release of this program differs from
// installedVersion.
func (d *doctor) checkRelease(ctx context.Context) (*Finding, error) {
	own := install.ReleaseOf(install.VersionMark(d.options.Version))
	if own == nil {
		return nil, nil // A build without a release fits to all.
	}
	installed, err := d.installedVersion(ctx)
	if err != nil || install.ReleaseOf(installed) == nil || own.EqualTo(install.ReleaseOf(installed)) {
		return nil, err
	}
	return &Finding{
		Object: object.ID{Kind: "Namespace", Name: options.Namespace}, Reason: "VersionSkew",
		Message: fmt.Sprintf("this program is of release %s, and the installation is of release %s",
			d.options.Version, installed),
		Action: "run the program of release " + installed + ", or upgrade the installation to release " + d.options.Version,
	}, nil
}

// compareDefinition returns the Findings about a CustomResourceDefinition. The parameter live is
// nil if the CustomResourceDefinition does not exist. The parameter repair is the Action that
// installs the CustomResourceDefinition again.
func (d *doctor) compareDefinition(live, template *apiextensionsv1.CustomResourceDefinition, repair string) []Finding {
	id := definitionID(template.Name)
	found := func(field, reason, message, action string) []Finding {
		return []Finding{{Object: id, Field: field, Reason: reason, Message: message, Action: action}}
	}
	switch {
	case live == nil:
		return found("", "DefinitionMissing", "the definition is missing, so its kind does not exist", repair)
	case live.DeletionTimestamp != nil:
		return found("metadata.deletionTimestamp", "Terminating",
			"the definition is being deleted, with all objects of its kind",
			"kubectl kinship why customresourcedefinition/"+template.Name+" says what it waits for; then "+repair)
	}
	for _, c := range live.Status.Conditions {
		wanted := c.Type == apiextensionsv1.Established || c.Type == apiextensionsv1.NamesAccepted
		if wanted && c.Status != apiextensionsv1.ConditionTrue {
			return found("status.conditions["+string(c.Type)+"]", "NotServed",
				fmt.Sprintf("the API server does not serve the kind: %s: %s", c.Reason, c.Message),
				"remove the other definition of the same names, or wait a moment if the definition is new")
		}
	}
	if d.skew {
		return nil
	}
	want, have := template.Labels[install.VersionLabel], live.Labels[install.VersionLabel]
	if install.ReleaseOf(want) != nil && have != want {
		return found("metadata.labels["+install.VersionLabel+"]", "VersionSkew",
			fmt.Sprintf("the definition is of release %q, and others are of release %s", have, want),
			repair)
	}
	return compareVersions(id, live, template, repair)
}

// compareVersions returns a Finding about the first of spec.versions that is not served, or whose
// schema differs from the template's.
func compareVersions(
	id object.ID, live, template *apiextensionsv1.CustomResourceDefinition, repair string,
) []Finding {
	for i := range template.Spec.Versions {
		want := &template.Spec.Versions[i]
		at := slices.IndexFunc(live.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == want.Name
		})
		field := "spec.versions[" + want.Name + "]"
		switch {
		case at < 0 || !live.Spec.Versions[at].Served:
			return []Finding{{
				Object: id, Field: field + ".served", Reason: "NotServed",
				Message: "the version is not served, so the operator can't read its objects", Action: repair,
			}}
		case !sameJSON(live.Spec.Versions[at].Schema, want.Schema):
			return []Finding{{
				Object: id, Field: field + ".schema", Reason: "DefinitionAltered",
				Message: "the schema is not that of this release: the API server may drop or refuse fields", Action: repair,
			}}
		}
	}
	return nil
}

// sameJSON reports whether a and b have the same form in JSON.
func sameJSON(a, b any) bool {
	var forms [2]any
	for i, value := range []any{a, b} {
		text, err := json.Marshal(value)
		if err != nil || json.Unmarshal(text, &forms[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(forms[0], forms[1])
}
