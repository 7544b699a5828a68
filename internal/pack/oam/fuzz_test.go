package oam

import (
	"testing"

	"sigs.k8s.io/yaml"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
)

// FuzzRender renders any application of any component: an error, or objects in the namespace of the
// application that the application controls, with authors that nobody else can set.
func FuzzRender(f *testing.F) {
	f.Add(mydb, mydbApplication)
	f.Fuzz(func(t *testing.T, componentText, applicationText string) {
		var c oamv1alpha2.Component
		var ac oamv1alpha2.ApplicationConfiguration
		if yaml.Unmarshal([]byte(componentText), &c) != nil || yaml.Unmarshal([]byte(applicationText), &ac) != nil {
			return
		}
		from := sourcesOf(t)
		from.components[c.Name] = c
		app, err := render(&ac, from)
		if err != nil {
			return
		}
		for _, o := range app.objects() {
			owners := o.GetOwnerReferences()
			if o.GetNamespace() != ac.Namespace || len(owners) != 1 || owners[0].UID != ac.UID {
				t.Errorf("%s is in namespace %s with owners %v", o.GetName(), o.GetNamespace(), owners)
			}
			if got := o.GetAnnotations()[authorise.AuthorsAnnotation]; got != "" {
				t.Errorf("%s has the authors %s", o.GetName(), got)
			}
		}
	})
}
