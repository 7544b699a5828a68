package iot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// header begins every connector of this file.
const header = `
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnector
metadata: {name: it}
spec: `

// TestSchemaRefuses shows the refusals of the API server itself, with or without an operator.
func TestSchemaRefuses(t *testing.T) {
	unattended(t, operator.Client(t))
	ns := testenv.Namespace(t)
	entry := `{containers: [{type: Normalization, image: i}]}`
	cases := map[string]struct{ spec, want string }{
		"both shapes": {
			`{containers: [{type: Normalization, image: i}], deployments: [` + entry + `]}`, "not both",
		},
		"version 0 fields in version 1": {
			`{version: 1, containers: [{type: Normalization, image: i}]}`, "list it under",
		},
		"version 1 fields in version 0": {`{version: 0, deployments: [` + entry + `]}`, "belongs to version 1"},
		"nothing at all":                {`{}`, "needs \"spec.containers\""},
		"version 2":                     {`{version: 2, deployments: []}`, "Unsupported value: 2"},
		"65 deployments": {
			`{version: 1, deployments: [` + strings.Repeat(entry+", ", 65) + `]}`, "must have at most 64 items",
		},
		"17 containers": {
			`{version: 1, deployments: [{containers: [` + strings.Repeat("{type: A, image: i}, ", 17) + `]}]}`,
			"must have at most 16 items",
		},
		"257 variables": {
			`{version: 1, deployments: [{containers: [{type: A, image: i, environmentVariables: [` + variables(257) + `]}]}]}`,
			"must have at most 256 items",
		},
		"two of a version 0 type": {
			`{containers: [{type: Normalization, image: i}, {type: Normalization, image: j}]}`, "at most one Normalization",
		},
		"two names of one version 0 type": {
			`{containers: [{type: FhirTransformation, image: i}, {type: FhirConverter, image: j}]}`,
			"at most one FhirTransformation",
		},
		"a new type in version 0": {`{containers: [{type: StorageDestination, image: i}]}`, "need version 1"},
		"a name that is none": {
			`{version: 1, deployments: [{name: A_b, containers: [{type: A, image: i}]}]}`, "should match",
		},
		"a type that is none": {`{version: 1, deployments: [{containers: [{type: "a b", image: i}]}]}`, "should match"},
		"no containers":       {`{version: 1, deployments: [{containers: []}]}`, "should have at least 1 items"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := testenv.TryApply(t, header+c.spec, testenv.In(ns))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestSchemaAccepts shows the seed's manifests, and the largest that may be.
func TestSchemaAccepts(t *testing.T) {
	unattended(t, operator.Client(t))
	for _, file := range []string{"connector", "normalization", "destination", "version0", "release0", "release1"} {
		t.Run(file, func(t *testing.T) {
			got := testenv.ApplyFile(t, "../../examples/iot/"+file+".yaml", testenv.In(testenv.Namespace(t)))[0]
			status, ok := got.Object["status"].(map[string]any)
			if !ok || status["observedGeneration"] != int64(-1) {
				t.Errorf("status %v, want observedGeneration -1 before anybody looked", got.Object["status"])
			}
		})
	}
	container := `{type: A, image: i, environmentVariables: [` + variables(4) + `]}, `
	full := `{containers: [` + strings.Repeat(container, 16) + `]}, `
	testenv.Apply(t, header+`{version: 1, deployments: [`+strings.Repeat(full, 64)+`]}`, testenv.In(testenv.Namespace(t)))
}

// TestReleaseSchema shows the valid specs of a release, and its defaults.
func TestReleaseSchema(t *testing.T) {
	unattended(t, operator.Client(t))
	ns := testenv.Namespace(t)
	release := func(spec string) string {
		return strings.Replace(header, "kind: IotConnector", "kind: IotConnectorRelease", 1) + spec
	}
	for spec, want := range map[string]string{
		`{version: 2}`: "Unsupported value: 2",
		`{version: 1, strategy: {maxUnavailable: 0}}`:  "give a number from 1",
		`{version: 1, strategy: {maxUnavailable: 0%}}`: "give a number from 1",
		`{version: 1, strategy: {maxFailures: 0}}`:     "greater than or equal to 1",
	} {
		if _, err := testenv.TryApply(t, release(spec), testenv.In(ns)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", spec, err, want)
		}
	}
	got := testenv.Apply(t, release(`{version: 1}`), testenv.In(ns))[0].Object["spec"]
	want := `map[selector:map[matchLabels:map[Tier:AlwaysUpdate]] strategy:map[maxFailures:1 maxUnavailable:1] version:1]`
	if fmt.Sprint(got) != want {
		t.Errorf("defaulted to %v, want %s", got, want)
	}
}

func variables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{name: v%d, value: x}, ", i)
	}
	return b.String()
}
