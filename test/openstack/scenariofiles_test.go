package openstack_test

import (
	"fmt"
	"strings"
	"testing"
)

// common are the scenarios that most kinds have.
const common = "create-full create-minimal dependency import import-dependency import-error update"

// publishedScenarios are the names of the published operator's scenarios for each kind: each of
// them has a scenario of ours with the same content.
var publishedScenarios = map[string]string{
	"addressscope":          common,
	"applicationcredential": "create-full create-minimal dependency import import-dependency import-error",
	"domain":                "create-full create-minimal import import-error update",
	"endpoint":              common,
	"flavor":                "create-full create-minimal dependency import import-error update",
	"floatingip":            common + " create-subnet-ref",
	"group":                 common,
	"image":                 "create-full create-minimal dependency import import-error update",
	"keypair":               "create-full create-minimal import",
	"network": common + " external-deletion external-deletion-import" +
		" resync-disabled resync-jitter resync-terminal-error",
	"port":    common + " create-sriov",
	"project": common,
	"role":    common,
	"roleassignment": "create-group-domain create-group-project create-user-domain create-user-project" +
		" dependency import import-dependency import-error",
	"router":          common,
	"routerinterface": "create-minimal dependency",
	"securitygroup":   common,
	"server":          "boot-from-volume create-full create-minimal dependency import import-error update",
	"servergroup":     "create-full create-minimal dependency import import-error",
	"service":         "create-full create-minimal import import-error update",
	"sharenetwork":    "create-full create-minimal dependency import import-error update",
	"subnet": "create-full-v4 create-full-v6 create-minimal-v4 create-minimal-v6" +
		" dependency import import-dependency import-error update",
	"trunk":      common,
	"user":       common,
	"volume":     "create-full create-minimal dependency import import-error update",
	"volumetype": "create-full create-minimal import import-error update",
}

// TestScenarioFiles: no scenario is missing, no two scenarios create resources of the same
// name, so that they can run in one cloud at the same time, and conditions are compared
// literally.
func TestScenarioFiles(t *testing.T) {
	told, makers := map[string]bool{}, map[string]string{}
	for _, s := range readScenarios(t) {
		path := s.kind + "/" + s.name
		told[path] = true
		for _, name := range s.namedResources() {
			if other := makers[name]; other != "" {
				t.Errorf("%s and %s both make %s", path, other, name)
			}
			makers[name] = path
		}
		for _, step := range s.steps {
			for _, u := range step.asserts {
				if conditions := fmt.Sprint(mapAt(u.Object, "status")["conditions"]); strings.Contains(conditions, "$") {
					t.Errorf("%s: step %s: a condition of %s has a placeholder: %s", path, step.number, u.GetName(), conditions)
				}
			}
		}
	}
	for kind, names := range publishedScenarios {
		for name := range strings.FieldsSeq(names) {
			if !told[kind+"/"+name] {
				t.Errorf("%s has no %s", kind, name)
			}
		}
	}
}

// TestReadScenario: a file that is no scenario is an error, not a scenario without assertions.
func TestReadScenario(t *testing.T) {
	const story = "A story.\n"
	for text, want := range map[string]string{
		"-- 00-assert.yaml --\nkind: Network\n": "tells no story",
		story:                                   "has no steps",
		story + "-- assert.yaml --\nkind: Network\n":                            "is no step",
		story + "-- 01-a.yaml --\nkind: Network\n-- 00-b.yaml --\nkind: Port\n": "not in order",
		story + "-- 00-a.yaml --\nmetadata: {name: x}\n":                        "Kind",
		story + "-- 00-a.yaml --\nkind: TestStep\ndeletes: []\n":                "unknown field",
	} {
		if _, err := parseScenario("network/x.txtar", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
	s, err := parseScenario("network/x.txtar", []byte(story+`-- 00-a.yaml --
kind: Network
---
kind: Port
-- 00-assert.yaml --
kind: Network
-- 01-delete.yaml --
kind: TestStep
delete: [{kind: Network, name: net}]
-- 01-errors.yaml --
kind: Network
`))
	if err != nil || len(s.steps) != 2 {
		t.Fatalf("%d steps: %v", len(s.steps), err)
	}
	first, second := s.steps[0], s.steps[1]
	if len(first.applied) != 2 || len(first.asserts) != 1 || len(second.actions.Delete) != 1 || len(second.errors) != 1 {
		t.Errorf("%+v\n%+v", first, second)
	}
}

func mapAt(fields map[string]any, key string) map[string]any {
	value, _ := fields[key].(map[string]any)
	return value
}
