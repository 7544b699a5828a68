package oam_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// testQuestions: the plugin knows what an application is made of, who uses a Component, a workload and a
// scope, and why an application waits.
func testQuestions(t *testing.T) {
	w := newWorld(t)
	testenv.ApplyFile(t, "../../examples/oam/website.yaml", testenv.In(w.NS))
	w.get("ApplicationConfiguration", "shop", synced(""))
	w.get("Deployment", "website", field(3, "spec", "replicas"))
	w.get("HealthScope", "website", members(1))
	w.write(application("waits", "componentName: missing"))
	w.get("ApplicationConfiguration", "waits", synced("there is no Component/missing"))
	for question, answers := range map[string][]string{
		"tree applicationconfiguration/shop": {
			"─ ContainerizedWorkload.core.oam.dev/website ", "─ ManualScalerTrait.core.oam.dev/website ",
			"─ Deployment.apps/website ", "─ Service/website ",
		},
		"who-uses component.core.oam.dev/website": {
			"ApplicationConfiguration.core.oam.dev/shop", "spec.components[0].componentName",
		},
		"who-uses containerizedworkload/website": {
			"ManualScalerTrait.core.oam.dev/website", "HealthScope.core.oam.dev/website",
		},
		"who-uses healthscope/website":       {"ApplicationConfiguration.core.oam.dev/shop"},
		"why applicationconfiguration/waits": {"there is no Component/missing"},
		"why manualscalertrait/website":      {"ManualScalerTrait.core.oam.dev/website"},
	} {
		var out bytes.Buffer
		args := append([]string{"kinship"}, strings.Fields(question)...)
		args = append(args, "--kubeconfig", testenv.Kubeconfig(t), "--namespace", w.NS)
		if code := cli.Main(t.Context(), "test", args, nil, &out, &out); code != 0 {
			t.Errorf("%s: code %d: %s", question, code, out.String())
			continue
		}
		t.Logf("%s:\n%s", question, out.String())
		for _, answer := range answers {
			if !strings.Contains(out.String(), answer) {
				t.Errorf("%s lacks %q:\n%s", question, answer, out.String())
			}
		}
	}
}
