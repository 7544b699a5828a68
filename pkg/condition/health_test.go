package condition_test

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/pkg/condition"
)

func TestHealthOf(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		status   status.Status
		isJudged bool
	}{
		"a kind with a rule": {"{apiVersion: v1, kind: ConfigMap}", status.CurrentStatus, true},
		"Pods are missing": {
			"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 2}, " +
				"status: {observedGeneration: 1}}", status.InProgressStatus, true,
		},
		"Ready is False": {
			"{apiVersion: v1, kind: Toy, status: {conditions: [{type: Ready, status: 'False'}]}}", status.InProgressStatus, true,
		},
		"another condition": {
			"{apiVersion: v1, kind: Toy, status: {conditions: [{type: Synced, status: 'False'}]}}", status.CurrentStatus, false,
		},
		"no conditions":         {"{apiVersion: v1, kind: Toy}", status.CurrentStatus, false},
		"conditions of no form": {"{apiVersion: v1, kind: Toy, status: {conditions: 7}}", status.UnknownStatus, false},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{}
			text, err := yaml.YAMLToJSON([]byte(c.text))
			if err == nil {
				err = u.UnmarshalJSON(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := condition.HealthOf(u); got.Status != c.status || got.IsJudged != c.isJudged {
				t.Errorf("health is %+v, want %s, judged %t", got, c.status, c.isJudged)
			}
		})
	}
}
