package security_test

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
)

// credentials is the field by which every object of the openstack pack names its cloud.
const credentials = "spec.cloudCredentialsRef.secretName"

// unasked are fields that name Secrets or contain what is secret, and for which no policy asks,
// with the reason.
var unasked = map[string]string{
	"spec.containers[].imagePullSecret":    "the kubelet reads it for Pods that the author may create anyway",
	"spec.containers[].imagePullSecrets[]": "the kubelet reads them for Pods that the author may create anyway",
	"spec.deployments[].containers[].imagePullSecrets[]": "the kubelet reads them for Pods that the author may " +
		"create anyway",
}

// TestSecretFields reads the definitions of all packs. Every field of a spec that is called after
// a Secret or a password is a relation, from which the policy about Secrets follows, and
// TestUnseenSecrets tries it.
func TestSecretFields(t *testing.T) {
	asked := map[string]bool{}
	for _, r := range openstack.Relations() {
		if r.Target.Kind == "Secret" {
			asked[r.Field] = true
			if _, tried := naming[r.Field]; !tried && r.Field != credentials {
				t.Errorf("TestUnseenSecrets does not try %s", r.Field)
			}
		}
	}
	found := 0
	for _, crd := range definitions(t, options.Options{Packs: options.PackNames()}) {
		spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, field := range secretFields("spec", &spec) {
			found++
			if !asked[field] && unasked[field] == "" {
				t.Errorf("%s: nobody asks whether the author may use what %s names", crd.Name, field)
			}
		}
	}
	if found < 2*len(naming) {
		t.Errorf("%d fields that name Secrets were found", found)
	}
}

// secretFields returns the paths of texts that are called after a Secret or a password.
func secretFields(path string, s *apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	if s.Items != nil && s.Items.Schema != nil {
		all = append(all, secretFields(path+"[]", s.Items.Schema)...)
	}
	for name := range s.Properties {
		property := s.Properties[name]
		all = append(all, secretFields(path+"."+name, &property)...)
	}
	last := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
	if s.Type == "string" && (strings.Contains(last, "secret") || strings.Contains(last, "password")) {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}
