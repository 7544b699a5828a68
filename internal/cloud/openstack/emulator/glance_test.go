package emulator_test

import (
	"encoding/json"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// TestPropertyNames: a property may begin with an underscore, but not with a prefix that Glance
// has reserved. The emulator's own properties stay hidden.
func TestPropertyNames(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	const images = "/image/v2/images"
	shown := func(text string) map[string]any {
		t.Helper()
		var fields map[string]any
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	made := shown(c.wants(t, 201, "POST", images, `{"_own":"x","_asked":"y","plain":"z"}`))
	for name, want := range map[string]any{"_own": "x", "_asked": "y", "plain": "z"} {
		if made[name] != want {
			t.Errorf("property %s is %v, want %v", name, made[name], want)
		}
	}
	one := images + "/" + made["id"].(string)
	changed := shown(c.wants(t, 200, "PATCH", one,
		`[{"op":"replace","path":"/_own","value":"new"},{"op":"remove","path":"/_asked"},`+
			`{"op":"add","path":"/_more","value":"m"}]`))
	if _, left := changed["_asked"]; left || changed["_own"] != "new" || changed["_more"] != "m" {
		t.Errorf("after a change: %v", changed)
	}
	c.wants(t, 403, "POST", images, `{"os_glance_mine":"x"}`)
	c.wants(t, 403, "PATCH", one, `[{"op":"add","path":"/os_glance_mine","value":"x"}]`)
}
