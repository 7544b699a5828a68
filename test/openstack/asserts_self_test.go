package openstack_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// observed is an object of the API server.
const observed = `{
  "apiVersion": "openstack.k-orc.cloud/v1alpha1", "kind": "Network",
  "metadata": {"name": "net", "generation": 3, "finalizers": ["b", "a"]},
  "spec": {"resource": {"mtu": 1400, "tags": ["a"]}},
  "status": {
    "conditions": [
      {"type": "Available", "status": "True", "reason": "Success", "message": "Here",
        "observedGeneration": 3, "lastTransitionTime": "2026-11-21T12:00:00Z"},
      {"type": "Progressing", "status": "False", "reason": "Success", "message": "Done",
        "observedGeneration": 3, "lastTransitionTime": "2026-11-21T12:00:00Z"}
    ],
    "id": "7fffffff-0000-4000-8000-000000000000", "lastSyncTime": "2026-11-21T12:00:05Z",
    "place": "project p", "observedDependencies": [{"name": "x"}], "drift": ["mtu is 1"],
    "resource": {"name": "net", "mtu": 1400, "shared": false, "tags": ["a", "b"], "projectID": "0123456789abcdef0123456789abcdef",
      "provider": {"networkType": "vxlan"}}
  }
}`

// asserted is an assert that observed meets.
const asserted = `{
  "apiVersion": "openstack.k-orc.cloud/v1alpha1", "kind": "Network", "metadata": {"name": "net"},
  "status": {
    "conditions": [
      {"type": "Available", "status": "True", "reason": "Success", "message": "Here"},
      {"type": "Progressing", "status": "False", "reason": "Success", "message": "Done"}
    ],
    "id": "$id",
    "resource": {"name": "net", "mtu": 1400, "shared": false, "tags": ["a", "b"], "projectID": "$id",
      "provider": {"networkType": "$text"}}
  }
}`

// differencesOf compares an object with an assert, both as text.
func differencesOf(t *testing.T, assert, object string) []string {
	t.Helper()
	want, got := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := errors.Join(want.UnmarshalJSON([]byte(assert)), got.UnmarshalJSON([]byte(object))); err != nil {
		t.Fatal(err)
	}
	c := &comparison{cloud: "$emulator", lookUp: func(object string) (map[string]any, error) {
		switch object {
		case "Network/net", "00 Network/net":
			return got.Object["status"].(map[string]any), nil
		}
		return nil, errors.New("there is no " + object)
	}}
	return c.object(want, got)
}

// TestComparison: whatever is different is told, and nothing else is.
func TestComparison(t *testing.T) {
	if differences := differencesOf(t, asserted, observed); len(differences) > 0 {
		t.Fatalf("the same differs: %v", differences)
	}
	const available = `{"type": "Available", "status": "True", "reason": "Success", "message": "Here"}`
	const progressing = `{"type": "Progressing", "status": "False", "reason": "Success", "message": "Done"}`
	for name, c := range map[string]struct {
		// assert and object are the replaced texts in asserted or observed, with their
		// replacements.
		assert, object [2]string
		want           string
	}{
		"a third condition": {
			object: [2]string{`"message": "Done",`, `"message": "Done", "observedGeneration": 3,
  "lastTransitionTime": "2026-11-21T12:00:00Z"}, {"type": "Ready", "status": "True",`}, want: "status.conditions: want [",
		},
		"a condition is missing": {assert: [2]string{available + ",", ""}, want: "status.conditions: want ["},
		"another order of conditions": {
			assert: [2]string{available + ",\n      " + progressing, progressing + "," + available},
			want:   `status.conditions[0].type: want "Progressing", got "Available"`,
		},
		"another message": {
			assert: [2]string{`"Done"`, `"Other"`}, want: `status.conditions[1].message: want "Other", got "Done"`,
		},
		"another reason": {
			assert: [2]string{`"Success", "message": "Here"`, `"Progressing", "message": "Here"`},
			want:   `status.conditions[0].reason: want "Progressing", got "Success"`,
		},
		"conditions of an older generation": {
			object: [2]string{`"generation": 3`, `"generation": 4`},
			want:   "status.conditions[0].observedGeneration: want 4, got 3",
		},
		"a condition without a time": {
			object: [2]string{`"lastTransitionTime": "2026-11-21T12:00:00Z"`, `"lastTransitionTime": null`},
			want:   `status.conditions[0].lastTransitionTime: want "$time", got null`,
		},
		"a field is missing": {
			object: [2]string{`"shared": false,`, ""}, want: "status.resource.shared: want false, got nothing",
		},
		"a field more": {
			assert: [2]string{`"shared": false,`, ""}, want: "status.resource.shared: want nothing, got false",
		},
		"a field more, deeper": {
			object: [2]string{`"vxlan"`, `"vxlan", "physicalNetwork": ""`},
			want:   `status.resource.provider.physicalNetwork: want nothing, got ""`,
		},
		"an id more":   {assert: [2]string{`"id": "$id",`, ""}, want: `status.id: want nothing, got "7fffffff`},
		"other number": {assert: [2]string{`"mtu": 1400`, `"mtu": 1401`}, want: "status.resource.mtu: want 1401, got 1400"},
		"an item more": {
			object: [2]string{`["a", "b"]`, `["a", "b", "c"]`}, want: `status.resource.tags: want ["a","b"], got ["a","b","c"]`,
		},
		"other order of items": {
			object: [2]string{`["a", "b"]`, `["b", "a"]`}, want: `status.resource.tags[0]: want "a", got "b"`,
		},
		"no status":  {object: [2]string{`"status": {`, `"other": {`}, want: "status: want {"},
		"other name": {assert: [2]string{`{"name": "net"}`, `{"name": "other"}`}, want: `metadata.name: want "other", got "net"`},
		"other finalizers": {
			assert: [2]string{`{"name": "net"}`, `{"name": "net", "finalizers": ["a"]}`},
			want:   `metadata.finalizers: want ["a"], got ["a","b"]`,
		},
		"not deleted": {
			assert: [2]string{`{"name": "net"}`, `{"name": "net", "deletionTimestamp": "$time"}`},
			want:   `metadata.deletionTimestamp: want "$time", got nothing`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(asserted, c.assert[0]) || !strings.Contains(observed, c.object[0]) {
				t.Fatal("what is to be replaced is not there")
			}
			assert := strings.Replace(asserted, c.assert[0], c.assert[1], 1)
			object := strings.Replace(observed, c.object[0], c.object[1], 1)
			if told := strings.Join(differencesOf(t, assert, object), "\n"); !strings.Contains(told, c.want) {
				t.Errorf("it tells\n%s\nwant %s", told, c.want)
			}
		})
	}
}

// TestPlaceholders: each placeholder matches exactly its values.
func TestPlaceholders(t *testing.T) {
	for _, c := range []struct {
		want string
		// same are matching values, and others values that do not match.
		same, others []string
	}{
		{`"$any"`, []string{`1`, `""`, `[]`, `null`}, []string{``}},
		{`"$absent"`, []string{``}, []string{`null`, `""`}},
		{`"$text"`, []string{`"a"`}, []string{`""`, `1`, ``}},
		{`"$int"`, []string{`0`}, []string{`"0"`, `1.5`, ``}},
		{
			`"$id"`,
			[]string{`"7fffffff-0000-4000-8000-000000000000"`, `"0123456789abcdef0123456789abcdef"`},
			[]string{`""`, `"default"`, `"x7fffffff-0000-4000-8000-000000000000"`, ``},
		},
		{`"$time"`, []string{`"2026-11-21T12:00:00Z"`}, []string{`"2026-11-21"`, `1`, ``}},
		{`"$ip"`, []string{`"10.0.0.1"`, `"fd00::1"`}, []string{`"net"`, `""`, ``}},
		{`"$mac"`, []string{`"fa:16:3e:00:00:0a"`}, []string{`"fa:16:3e:00:00"`, ``}},
		{`"$(Network/net.id)"`, []string{`"7fffffff-0000-4000-8000-000000000000"`}, []string{`"7fffffff"`, ``}},
		{`"is $(Network/net.resource.name)."`, []string{`"is net."`}, []string{`"is it."`, ``}},
		{`"$(Network/net.resource.none)"`, nil, []string{`"$(Network/net.resource.none)"`, ``}},
		{`"$(Network/other.id)"`, nil, []string{`"7fffffff-0000-4000-8000-000000000000"`}},
		{`{"$not": "$(00 Network/net.id)"}`, []string{`"a"`}, []string{`"7fffffff-0000-4000-8000-000000000000"`, ``}},
		{
			`{"$after": "$(00 Network/net.lastSyncTime)"}`,
			[]string{`"2026-11-21T12:00:06Z"`},
			[]string{`"2026-11-21T12:00:05Z"`, `"later"`, ``},
		},
		{
			`{"$unordered": [{"a": 1}, {"a": "$int"}, "b"]}`,
			[]string{`["b", {"a": 1}, {"a": 2}]`},
			[]string{`["b", {"a": 2}, {"a": 2}]`, `["b", {"a": 1}]`, `["b", {"a": 1}, {"a": 2, "c": 1}]`, `1`, ``},
		},
		{`{"$emulator": 1, "$real": 2}`, []string{`1`}, []string{`2`, ``}},
		{`{"$emulator": "$absent", "$real": 2}`, []string{``}, []string{`2`}},
	} {
		for _, got := range slices.Concat(c.same, c.others) {
			object := strings.Replace(observed, `"shared"`, `"x": `+got+`, "shared"`, 1)
			if got == "" {
				object = observed
			}
			assert := strings.Replace(asserted, `"shared"`, `"x": `+c.want+`, "shared"`, 1)
			differences := differencesOf(t, assert, object)
			if same := len(differences) == 0; same != slices.Contains(c.same, got) {
				t.Errorf("%s for %s: %v", c.want, got, differences)
			}
		}
	}
}
