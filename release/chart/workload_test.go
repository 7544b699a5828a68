package chart_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/release/chart"
)

// deployment returns the Deployment for values, whose fields are all known.
func deployment(t *testing.T, text string) *appsv1.Deployment {
	t.Helper()
	u := render(t, text)["Deployment kinship-system/kinship"]
	if u == nil {
		t.Fatal("no Deployment is rendered")
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &d, true); err != nil {
		t.Fatalf("read the Deployment: %v", err)
	}
	return &d
}

// TestArguments: values become arguments of the operator.
func TestArguments(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "operator --packs=usage --enforcement=webhook --leader-elect=true --health-probe-bind-address=:8081 " +
			"--webhook-port=9443 --metrics-bind-address=:8080",
		`{` + only(options.PackNames()...) + `}`: "" +
			"operator --packs=usage,iot,openstack,oam,azure --enforcement=webhook --leader-elect=true " +
			"--health-probe-bind-address=:8081 --webhook-port=9443 --metrics-bind-address=:8080 " +
			"--openstack-conditions=published --identity=workload-identity --azure-credential=secret " +
			"--azure-submission=put",
		`{` + only("usage") + `, "enforcement": "policy", "metrics": {"enabled": false}, "namespaces": ["a", "b"]}`: "" +
			"operator --packs=usage --enforcement=policy --leader-elect=true --health-probe-bind-address=:8081 " +
			"--namespaces=a,b --metrics-bind-address=0",
		`{` + only("usage") + `, "metrics": {"enabled": false}, "admission": {"from": ["10.0.0.0/28", "fd00::1"],
			"clientCAConfigMap": "ca", "maxObjectSize": 1000}}`: "operator --packs=usage --enforcement=webhook " +
			"--leader-elect=true --health-probe-bind-address=:8081 --webhook-port=9443 " +
			"--admission-from=10.0.0.0/28,fd00::1 --admission-client-ca=/etc/kinship/admission/ca.crt " +
			"--max-object-size=1000 --metrics-bind-address=0",
		`{"packs": {"usage": {"kinds": ["pods", "a.b"], "usingKinds": ["c.d"], "maxPerNamespace": 100},
			"openstack": {"enabled": true, "hosts": ["*.example"], "conditions": "all"}, "iot": {"enabled": false},
			"oam": {"enabled": true, "kinds": ["e.f"]}, "azure": {"enabled": true, "credential": "default",
			"subscription": "s", "endpoint": "https://a.example", "submission": "deployment"}}, "extraArgs": ["--verbose"]}`: "operator --packs=usage,openstack,oam,azure " +
			"--enforcement=webhook --leader-elect=true --health-probe-bind-address=:8081 --webhook-port=9443 " +
			"--metrics-bind-address=:8080 --kinds=pods,a.b --using-kinds=c.d --usage-max-per-namespace=100 " +
			"--openstack-conditions=all --openstack-hosts=*.example --oam-kinds=e.f " +
			"--azure-credential=default --azure-submission=deployment --azure-endpoint=https://a.example " +
			"--azure-subscription=s --verbose",
	} {
		if got := strings.Join(deployment(t, text).Spec.Template.Spec.Containers[0].Args, " "); got != want {
			t.Errorf("values %s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestAdmissionFrom: the networks of the API servers are those of the NetworkPolicy too, and the CA is mounted.
func TestAdmissionFrom(t *testing.T) {
	values := `{"admission": {"from": ["10.0.0.0/28", "10.1.2.3", "fd00::1"], "clientCAConfigMap": "ca"}}`
	policy := render(t, values)["NetworkPolicy kinship-system/kinship"]
	ingress, _, err := unstructured.NestedSlice(policy.Object, "spec", "ingress")
	if err != nil {
		t.Fatal(err)
	}
	want := "[map[ipBlock:map[cidr:10.0.0.0/28]] map[ipBlock:map[cidr:10.1.2.3/32]] map[ipBlock:map[cidr:fd00::1/128]]]"
	if got := fmt.Sprint(ingress[0].(map[string]any)["from"]); got != want {
		t.Errorf("the NetworkPolicy lets in %s, want %s", got, want)
	}
	pod := deployment(t, values).Spec.Template.Spec
	if len(pod.Volumes) != 1 || pod.Volumes[0].ConfigMap.Name != "ca" ||
		pod.Containers[0].VolumeMounts[0].MountPath != "/etc/kinship/admission" {
		t.Errorf("the CA is not mounted: %v, %v", pod.Volumes, pod.Containers[0].VolumeMounts)
	}
}

// TestFiles: an argument can name a file of a volume, and the Pods get the environment and the ServiceAccount
// the annotations that the operator's own identity in Azure needs.
func TestFiles(t *testing.T) {
	const extra = `"extraArgs": ["--azure-catalogue=/files/arm.catalogue"],
		"extraEnv": [{"name": "AZURE_CLIENT_ID", "value": "c"}],
		"extraVolumes": [{"name": "files", "configMap": {"name": "catalogue"}}],
		"extraVolumeMounts": [{"name": "files", "mountPath": "/files", "readOnly": true}],
		"serviceAccount": {"annotations": {"azure.workload.identity/client-id": "c"}}`
	const account = "azure.workload.identity/client-id=c"
	for text, want := range map[string]string{
		`{}`:              "[] [] [] ",
		`{` + extra + `}`: "[AZURE_CLIENT_ID] [files] [/files] " + account,
		`{` + extra + `, "goMemLimit": "1GiB", "metrics": {"certificateSecret": "s"}}`: "[GOMEMLIMIT AZURE_CLIENT_ID] " +
			"[metrics-certificate files] [/etc/kinship/metrics /files] " + account,
	} {
		pod := deployment(t, text).Spec.Template.Spec
		env, volumes, mounts := []string{}, []string{}, []string{}
		for _, e := range pod.Containers[0].Env {
			env = append(env, e.Name)
		}
		for _, v := range pod.Volumes {
			volumes = append(volumes, v.Name)
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			mounts = append(mounts, m.MountPath)
		}
		annotations := ""
		for name, value := range render(t, text)["ServiceAccount kinship-system/"+pod.ServiceAccountName].GetAnnotations() {
			annotations += name + "=" + value
		}
		if got := fmt.Sprintf("%v %v %v %s", env, volumes, mounts, annotations); got != want {
			t.Errorf("values %s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestImage: the image has the digest if there is one, else the tag, else the version of the chart.
func TestImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for text, want := range map[string]string{
		`{}`: "ghcr.io/kinship-dev/kinship:0.0.0-dev",
		`{"image": {"repository": "r.example/k", "tag": "t"}}`: "r.example/k:t",
		`{"image": {"tag": "t", "digest": "` + digest + `"}}`:  "ghcr.io/kinship-dev/kinship@" + digest,
	} {
		if got := deployment(t, text).Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("values %s: image %s, want %s", text, got, want)
		}
	}
}

// TestProbes: a replica that answers admission requests is ready, and every probe's port is open.
func TestProbes(t *testing.T) {
	for text, want := range map[string]string{`{}`: "/readyz/webhook", `{"enforcement": "policy"}`: "/readyz"} {
		c := deployment(t, text).Spec.Template.Spec.Containers[0]
		if got := c.ReadinessProbe.HTTPGet.Path; got != want {
			t.Errorf("values %s: readiness asks %s, want %s", text, got, want)
		}
		var ports []string
		for _, p := range c.Ports {
			ports = append(ports, p.Name)
		}
		for _, port := range []string{
			c.ReadinessProbe.HTTPGet.Port.StrVal, c.LivenessProbe.HTTPGet.Port.StrVal, c.StartupProbe.HTTPGet.Port.StrVal,
		} {
			if !slices.Contains(ports, port) {
				t.Errorf("values %s: a probe asks port %s of %v", text, port, ports)
			}
		}
	}
}

// TestSelectors: Service, PodDisruptionBudget, NetworkPolicy and spread select the operator's Pods.
func TestSelectors(t *testing.T) {
	all := render(t, `{}`)
	labels := deployment(t, `{}`).Spec.Template.Labels
	for key, path := range map[string][]string{
		"Service kinship-system/kinship-webhook":     {"spec", "selector"},
		"Service kinship-system/kinship-metrics":     {"spec", "selector"},
		"PodDisruptionBudget kinship-system/kinship": {"spec", "selector", "matchLabels"},
		"NetworkPolicy kinship-system/kinship":       {"spec", "podSelector", "matchLabels"},
		"Deployment kinship-system/kinship":          {"spec", "selector", "matchLabels"},
	} {
		if all[key] == nil {
			t.Errorf("no %s is rendered", key)
			continue
		}
		selector, _, err := unstructured.NestedStringMap(all[key].Object, path...)
		if err != nil || len(selector) == 0 {
			t.Errorf("%s selects %v, %v", key, selector, err)
		}
		for name, value := range selector {
			if labels[name] != value {
				t.Errorf("%s selects %s=%s, the Pods have %q", key, name, value, labels[name])
			}
		}
	}
}

var headings = regexp.MustCompile(`(?m)^#+ (.*)$`)

// TestRunbooks: each alert has a section in docs/troubleshooting.md, and the rules of the chart are
// those of docs/metrics.md.
func TestRunbooks(t *testing.T) {
	told, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, h := range headings.FindAllStringSubmatch(string(told), -1) {
		anchors[strings.ToLower(strings.ReplaceAll(h[1], " ", "-"))] = true
	}
	rule := render(t, `{"metrics": {"alerts": {"enabled": true}}}`)["PrometheusRule kinship-system/kinship"]
	if rule == nil {
		t.Fatal("no PrometheusRule is rendered")
	}
	groups, _, err := unstructured.NestedSlice(rule.Object, "spec", "groups")
	if err != nil || len(groups) != 1 {
		t.Fatalf("groups %v, %v", groups, err)
	}
	rules := groups[0].(map[string]any)["rules"].([]any)
	if len(rules) < 8 {
		t.Errorf("there are %d alerts, want at least 8", len(rules))
	}
	for _, r := range rules {
		url, _, _ := unstructured.NestedString(r.(map[string]any), "annotations", "runbook_url")
		if _, anchor, _ := strings.Cut(url, "#"); !anchors[anchor] {
			t.Errorf("the runbook %q of %v is no section", url, r.(map[string]any)["alert"])
		}
	}
}

// TestMonitoring: what needs kinds of others is rendered only when asked for.
func TestMonitoring(t *testing.T) {
	for key := range render(t, `{}`) {
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "Certificate", "ConfigMap"} {
			if strings.HasPrefix(key, kind+" ") {
				t.Errorf("%s is rendered by default", key)
			}
		}
	}
	all := render(t, `{"metrics": {"certificateSecret": "s", "certManager": {"enabled": true, "issuerRef": {"name": "i"}},
		"serviceMonitor": {"enabled": true}, "alerts": {"enabled": true}, "dashboard": {"enabled": true},
		"reader": {"namespace": "monitoring", "name": "prometheus"}}}`)
	for _, key := range []string{
		"ServiceMonitor kinship-system/kinship", "PrometheusRule kinship-system/kinship",
		"Certificate kinship-system/kinship-metrics", "ConfigMap kinship-system/kinship-dashboard",
		"ClusterRoleBinding /kinship-metrics-reader",
	} {
		if all[key] == nil {
			t.Errorf("no %s is rendered", key)
		}
	}
}

// TestNotes: the notes warn of one replica, of no budget, and of definitions that go.
func TestNotes(t *testing.T) {
	for text, warnings := range map[string]int{
		`{}`: 0,
		`{"replicas": 1, "podDisruptionBudget": {"enabled": false}, "crds": {"keep": false}}`: 3,
	} {
		files, err := load(t).Render(t.Context(), values(t, text), chart.Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(files["kinship/templates/NOTES.txt"], "WARNING"); got != warnings {
			t.Errorf("values %s: %d warnings, want %d", text, got, warnings)
		}
	}
}
