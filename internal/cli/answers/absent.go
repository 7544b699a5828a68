package answers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// maxNamed is how many objects or namespaces absentText names.
const maxNamed = 5

// explainAbsence adds to a lineage.NotFoundError which objects name the missing object, and the next step.
func (q *question) explainAbsence(ctx context.Context, cluster *lineage.Cluster, err error) error {
	var missing *lineage.NotFoundError
	switch {
	case !errors.As(err, &missing):
		return err
	case missing.ID.IsZero():
		return unserved(err, missing.Kind)
	}
	absence, failed := cluster.Absence(ctx, missing.ID)
	if failed != nil {
		return failed
	}
	return fmt.Errorf("%w\n%s", err, strings.TrimSpace(absentText(absence)+"\n"+unseen(absence.Skipped)))
}

// absentText returns which objects name a missing object, and the next step.
func absentText(a *lineage.Absence) string {
	named := make([]string, 0, len(a.NamedBy))
	for _, e := range a.NamedBy {
		named = append(named, fmt.Sprintf("%s (%s)", e.Declarer.Short(), e.Field))
	}
	text := ""
	if len(named) > 0 {
		text = "It is named by " + joinFirst(named) + ".\n"
	}
	return text + "Next: " + absentStep(a) + "."
}

func absentStep(a *lineage.Absence) string {
	switch {
	case a.NoNamespace:
		return fmt.Sprintf("name another namespace with -n: there is no namespace %s", a.ID.Namespace)
	case len(a.NamedBy) > 0:
		return fmt.Sprintf("create %s, or change what names it (ask the owner)", a.ID)
	case len(a.Elsewhere) > 0:
		return fmt.Sprintf("name another namespace with -n: there is a %s in %s", a.ID.Short(), joinFirst(a.Elsewhere))
	case a.ID.Namespace != "":
		return "check the name, or name another namespace with -n; kubectl get lists the objects of the kind"
	default:
		return "check the name; kubectl get lists the objects of the kind"
	}
}

// joinFirst joins the first maxNamed texts, and counts the others.
func joinFirst(texts []string) string {
	text := strings.Join(texts[:min(len(texts), maxNamed)], ", ")
	if more := len(texts) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// unserved adds the next step to the error for a kind that the cluster does not serve: the command that enables the
// kind if the kind may be one of Azure's, or "kubectl api-resources".
func unserved(err error, kind string) error {
	all, failed := catalogue.Embedded()
	if failed != nil {
		return errors.Join(err, failed)
	}
	name, group, _ := strings.Cut(strings.ToLower(kind), ".")
	var types []string
	for _, k := range all.Kinds() {
		named := name == k.Plural || name == strings.ToLower(k.Kind)
		if named && (group == "" || group == k.Group) && all.Default(k.Type) == k {
			types = append(types, k.Type)
		}
	}
	switch len(types) {
	case 0:
		return fmt.Errorf("%w; kubectl api-resources lists them", err)
	case 1:
		return fmt.Errorf("%w, which is a kind of Azure: kinship azure enable %s installs it", err, types[0])
	default:
		return fmt.Errorf("%w; kubectl api-resources lists them; if a kind of Azure is meant, kinship azure enable TYPE "+
			"installs it, with one of the types %s", err, joinFirst(types))
	}
}
