package iot

import (
	"encoding/json"
	"strings"
	"testing"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// FuzzRender renders IotConnectors of any spec. Everything is in the namespace of its
// IotConnector, and no Pod reaches outside of itself: a spec has no field for that.
func FuzzRender(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"version":7}`, `{"version":1,"deployments":[{"containers":[]}]}`,
		`{"containers":[{"type":"Normalization","image":"i","imagePullSecrets":["a","a"]},{"type":"FhirTransformation"}]}`,
		`{"version":1,"serviceIdentity":{"clientId":"a"},"deployments":[{"name":"a","replicas":-1,"containers":[` +
			`{"type":"A","resources":{"limits":{"cpu":"1"}},"securityContext":{"privileged":true},` +
			`"livenessProbe":{"httpGet":{"port":"http","host":"169.254.169.254"}}}]}]}`,
	} {
		f.Add("hub", []byte(text))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		c := &iotv1alpha1.IotConnector{}
		if json.Unmarshal(text, &c.Spec) != nil {
			return
		}
		c.Namespace, c.Name = "of-the-author", name
		_ = iot.Validate(c.Name, &c.Spec) // A refusal is fine; a panic is not.
		for _, kind := range []Identity{WorkloadIdentity, PodIdentity} {
			id := identity{c, kind}
			all := id.render()
			for _, d := range append(version0(c, nil), version1(c)...) {
				obj, err := d.render(id)
				if err != nil {
					continue
				}
				all = append(all, obj)
			}
			for _, obj := range all {
				if obj.GetNamespace() != c.Namespace {
					t.Errorf("%s is in namespace %s", obj.ID(), obj.GetNamespace())
				}
				text, err := json.Marshal(obj)
				if err != nil {
					t.Errorf("%s: %v", obj.ID(), err)
				}
				for _, field := range []string{`"hostPath":`, `"hostNetwork":`, `"hostPID":`, `"hostIPC":`, `"volumes":`} {
					if strings.Contains(string(text), field) {
						t.Errorf("%s has %s", obj.ID(), field)
					}
				}
			}
		}
	})
}
