package oam

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/dataflow"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// sources are the objects from which render renders an application. The methods read a cache and
// never block.
type sources interface {
	// component returns the spec, the name and the revision of a Component: for componentName the
	// current spec, and for revisionName the recorded spec. The error says which object is missing.
	component(c *oamv1alpha2.ApplicationConfigurationComponent) (found component, err error)
	// trait returns a TraitDefinition, or nil.
	trait(name string) *oamv1alpha2.TraitDefinition
	// plural returns the plural of a kind, such as "mydbs", and whether the API server serves the
	// kind.
	plural(gvk schema.GroupVersionKind) (string, bool)
}

// component is a Component in one revision.
type component struct {
	name, revision string
	spec           oamv1alpha2.ComponentSpec
	labels         map[string]string
	annotations    map[string]string
	authors        []authorise.Author
}

// application has the objects that an ApplicationConfiguration requests.
type application struct {
	parts []part
	// stores are objects that hold dataOutputs.
	stores []*unstructured.Unstructured
	// budget bounds the values that paths set in all objects of the application.
	budget *relation.Budget
}

// part is the workload of one component with its traits.
type part struct {
	component, revision string
	workload            *unstructured.Unstructured
	traits              []trait
	scopes              []oamv1alpha2.TypedReference
	// isPerRevision says that each revision of the component has a workload of its own.
	isPerRevision bool
	// authors wrote the ApplicationConfiguration and the Component.
	authors []authorise.Author
	// nodes are the workload and the traits with dataOutputs or dataInputs.
	nodes []dataflow.Node
}

// trait is a trait of a workload.
type trait struct {
	object *unstructured.Unstructured
	// definition is nil if the TraitDefinition does not exist. definitionName is then noDefinition.
	definition     *oamv1alpha2.TraitDefinition
	definitionName string
	// message says that the TraitDefinition is missing.
	message string
}

// noTraitDefinition is the published message of a trait whose kind has no TraitDefinition.
const noTraitDefinition = "No valid TraitDefinition found, all framework capabilities will work as default or disabled"

// renderer renders the parts of one ApplicationConfiguration.
type renderer struct {
	*oamv1alpha2.ApplicationConfiguration

	from   sources
	budget *relation.Budget
	// instances is the number of workloads of each Component.
	instances map[string]int
}

// render returns the application that an ApplicationConfiguration requests. An error is a
// *relation.FieldError.
func render(ac *oamv1alpha2.ApplicationConfiguration, from sources) (application, error) {
	if len(ac.Spec.Components) == 0 {
		return application{}, relation.Wrong("spec.components", "an application has at least one component")
	}
	app := application{budget: relation.NewBudget(pathBudget)}
	r := renderer{ac, from, app.budget, map[string]int{}}
	for i := range ac.Spec.Components {
		if found, err := from.component(&ac.Spec.Components[i]); err == nil {
			r.instances[found.name]++
		}
	}
	for i := range ac.Spec.Components {
		p, err := r.part(i)
		if err != nil {
			return application{}, err
		}
		app.parts = append(app.parts, p)
	}
	return app, app.distinct()
}

// distinct returns an error if two objects of an application have the same kind and name: the
// second object would overwrite the first.
func (a application) distinct() error {
	seen := map[object.ID]bool{}
	for _, o := range slices.Concat(a.objects(), a.stores) {
		id := object.Of(o, o.GroupVersionKind().GroupKind())
		if seen[id] {
			return relation.Wrong("spec.components", "%s is there twice: give one another metadata.name", id.Short())
		}
		seen[id] = true
	}
	return nil
}

func (r renderer) part(i int) (part, error) {
	c, field := &r.Spec.Components[i], fmt.Sprintf("spec.components[%d]", i)
	if err := checkName(c, field); err != nil {
		return part{}, err
	}
	found, err := r.from.component(c)
	if err != nil {
		return part{}, err
	}
	workload, err := objectOf(found.spec.Workload, "spec.workload of Component/"+found.name)
	if err != nil {
		return part{}, err
	}
	if _, served := r.from.plural(workload.GroupVersionKind()); !served {
		return part{}, relation.Wrong("spec.workload of Component/"+found.name, "the API server serves no %s",
			workload.GroupVersionKind())
	}
	workload.Object, err = setParameters(workload.Object, found.spec.Parameters, c.ParameterValues, field, r.budget)
	if err != nil {
		return part{}, err
	}
	p := part{component: found.name, revision: found.revision, workload: workload}
	author := authorise.AuthorsOf(r)
	p.authors = slices.Concat(author, found.authors)
	if len(author) == 0 || len(found.authors) == 0 {
		p.authors = nil
	}
	for _, s := range c.Scopes {
		p.scopes = append(p.scopes, s.ScopeReference)
	}
	before := r.statusOf(found, workload.GetName())
	revisionEnabled, err := p.readTraits(c, field, r.from)
	if err != nil {
		return part{}, err
	}
	if workload.GetName() == "" {
		workload.SetName(workloadName(found.name, found.revision, revisionEnabled, before))
		p.isPerRevision = revisionEnabled
	}
	err = p.finish(r.ApplicationConfiguration, workload, oamv1alpha2.ResourceTypeWorkload, found.labels, found.annotations)
	if err != nil {
		return part{}, err
	}
	if err := p.addNode(workload, field, c.DataOutputs, c.DataInputs); err != nil {
		return part{}, err
	}
	return p, r.finishTraits(&p, c, field, before)
}

// finishTraits names the traits, and binds the traits to the workload.
func (r renderer) finishTraits(
	p *part, c *oamv1alpha2.ApplicationConfigurationComponent, field string, before *earlier,
) error {
	taken := map[string]bool{}
	for _, t := range p.traits {
		taken[t.object.GetName()] = true
	}
	for j, one := range p.traits {
		t := one.object
		if t.GetName() == "" {
			t.SetName(traitName(p.component, one.definitionName, &c.Traits[j], t, before, taken))
		}
		taken[t.GetName()] = true
		at := fmt.Sprintf("%s.traits[%d]", field, j)
		if err := checkApplies(one.definition, p.workload, r.from, at+".trait"); err != nil {
			return err
		}
		if err := bindTrait(t, one.definition, p.workload, r.budget); err != nil {
			return err
		}
		if err := p.finish(r.ApplicationConfiguration, t, oamv1alpha2.ResourceTypeTrait, nil, nil); err != nil {
			return err
		}
		if err := p.addNode(t, at, c.Traits[j].DataOutputs, c.Traits[j].DataInputs); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses a component with componentName and revisionName, or with neither.
func checkName(c *oamv1alpha2.ApplicationConfigurationComponent, field string) error {
	if (c.ComponentName == "") == (c.RevisionName == "") {
		return relation.Wrong(field, "set componentName or revisionName, and not both")
	}
	return nil
}

// readTraits adds the traits of a component to part.traits. readTraits reports whether a
// TraitDefinition has spec.revisionEnabled.
func (p *part) readTraits(
	c *oamv1alpha2.ApplicationConfigurationComponent, field string, from sources,
) (revisionEnabled bool, err error) {
	for j := range c.Traits {
		at := fmt.Sprintf("%s.traits[%d].trait", field, j)
		t, err := objectOf(c.Traits[j].Trait, at)
		if err != nil {
			return false, err
		}
		plural, served := from.plural(t.GroupVersionKind())
		if !served {
			return false, relation.Wrong(at, "the API server serves no %s", t.GroupVersionKind())
		}
		one := trait{object: t, definitionName: definitionName(t, oamv1alpha2.LabelTraitType, plural)}
		if one.definition = from.trait(one.definitionName); one.definition == nil {
			one.definitionName, one.message = noDefinition, noTraitDefinition
		} else {
			revisionEnabled = revisionEnabled || one.definition.Spec.RevisionEnabled
		}
		p.traits = append(p.traits, one)
	}
	return revisionEnabled, nil
}

// checkApplies refuses a trait whose TraitDefinition does not name the workload in
// spec.appliesToWorkloads.
func checkApplies(
	definition *oamv1alpha2.TraitDefinition, workload *unstructured.Unstructured, from sources, field string,
) error {
	if definition == nil {
		return nil
	}
	plural, _ := from.plural(workload.GroupVersionKind())
	if !appliesTo(definition.Spec.AppliesToWorkloads, workload, plural) {
		return relation.Wrong(field, "TraitDefinition/%s applies to %s, and the workload is a %s",
			definition.Name, strings.Join(definition.Spec.AppliesToWorkloads, ", "), workload.GetKind())
	}
	return nil
}

// statusOf returns the entry of status.workloads for a workload of a component, or nil. The
// parameter workload is the name of the workload, or empty. If several workloads are of one
// Component, an entry of another name, or else of another revision, is of another workload.
func (r renderer) statusOf(of component, workload string) *earlier {
	for i := range r.Status.Workloads {
		w := &r.Status.Workloads[i]
		isSame := w.Reference.Name == workload || (workload == "" && w.ComponentRevisionName == of.revision)
		if w.ComponentName == of.name && (isSame || r.instances[of.name] == 1) {
			return w
		}
	}
	return nil
}

// objectOf reads an embedded object.
func objectOf(raw runtime.RawExtension, field string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw.Raw, &u.Object); err != nil || u.Object == nil {
		return nil, relation.Wrong(field, "it is no object")
	}
	if u.GetAPIVersion() == "" || u.GetKind() == "" {
		return nil, relation.Wrong(field, "it needs an apiVersion and a kind")
	}
	if u.Object["metadata"] != nil {
		if _, ok := u.Object["metadata"].(map[string]any); !ok {
			return nil, relation.Wrong(field+".metadata", "it is no object")
		}
	}
	return u, nil
}

// ofTheServer are the fields of metadata that the API server sets. A template that a user copied
// from a cluster has these fields.
var ofTheServer = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink",
}

// finish sets the namespace, labels, annotations and owner that all objects of an application have.
// Values of the object itself override those of the Component, and values of the Component override
// those of the ApplicationConfiguration.
func (p *part) finish(
	ac *oamv1alpha2.ApplicationConfiguration, obj *unstructured.Unstructured, kind string,
	labels, annotations map[string]string,
) error {
	obj.SetNamespace(ac.Namespace)
	obj.SetLabels(merged(ac.Labels, labels, obj.GetLabels(), map[string]string{
		oamv1alpha2.LabelAppName: ac.Name, oamv1alpha2.LabelAppComponent: p.component,
		oamv1alpha2.LabelAppRevision: p.revision, oamv1alpha2.LabelResourceType: kind,
	}))
	ours := map[string]string{oamv1alpha2.AnnotationAppGeneration: strconv.FormatInt(ac.Generation, 10)}
	// The pack acts on objects of core.oam.dev, such as a ManualScalerTrait, in the name of
	// RenderedAnnotation, and of users who changed the object.
	if obj.GroupVersionKind().Group == oamv1alpha2.GroupVersion.Group && len(p.authors) > 0 {
		text, err := authorise.FormatAuthors(p.authors...)
		if err != nil {
			return relation.Wrong("metadata.annotations", "%s", err)
		}
		ours[authorise.RenderedAnnotation] = text
	}
	obj.SetAnnotations(merged(ac.Annotations, annotations, obj.GetAnnotations(), ours))
	owner := metav1.NewControllerRef(ac, oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindApplicationConfiguration))
	obj.SetOwnerReferences([]metav1.OwnerReference{*owner})
	unstructured.RemoveNestedField(obj.Object, "status")
	for _, field := range ofTheServer {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	return nil
}

// merged merges maps; later maps override earlier maps. LastAppliedConfigAnnotation is the
// ApplicationConfiguration's own and is left out. Only the last map, which the pack makes, may have
// authorise.Annotations.
func merged(all ...map[string]string) map[string]string {
	sum := map[string]string{}
	for i, m := range all {
		if i == len(all)-1 {
			for _, name := range authorise.Annotations {
				delete(sum, name)
			}
		}
		maps.Copy(sum, m)
	}
	delete(sum, corev1.LastAppliedConfigAnnotation)
	return sum
}
