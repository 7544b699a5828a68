package frontdoor_test

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// badValues has a wrong value of each flag of `kinship operator` that can have one.
var badValues = map[string]string{
	"packs": "none", "namespaces": "A_b", "enforcement": "x", "kinds": "a/b", "using-kinds": "a/b", "oam-kinds": "*.b",
	"identity": "y", "webhook-host": "https://a", "webhook-port": "70000",
	"admission-from": "everywhere", "admission-client-ca": "/no-such-file", "max-object-size": "-1",
	"max-namespace-size":   "-1",
	"metrics-bind-address": "nowhere", "metrics-cert-dir": "/no-such-directory",
	"health-probe-bind-address": "nowhere", "pprof-bind-address": "0.0.0.0:1",
	"otlp-endpoint": "collector", "usage-grace-period": "-1s", "usage-replay-expiry": "-1h",
	"usage-max-per-namespace": "-1", "usage-lifted-by": "view", "openstack-workers": "-2", "openstack-resync": "soon",
	"openstack-qps": "-3", "openstack-calls": "-4", "openstack-hosts": "[a", "openstack-open-cidrs": "10.0.0.0",
	"openstack-closed-cidrs": "10.0.0.1", "default-ca-certs": "/no-such-file", "openstack-conditions": "some",
	"azure-endpoint": "arm", "azure-credential": "z", "azure-subscription": "mine", "azure-catalogue": "/no-catalogue",
	"azure-submission": "post", "azure-resync": "later", "log-format": "xml",
}

// badEnvironment has a wrong value of each variable that the operator reads.
var badEnvironment = map[string]string{
	"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "udp://collector",
	"OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/no-such-certificate",
	"OTEL_TRACES_SAMPLER": "some", "OTEL_TRACES_SAMPLER_ARG": "2",
}

// flagLine finds the name and the type of a flag that has a value.
var flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, |    )--([a-z-]+) (?:string|strings|int|float|duration)\b`)

// TestBadFlags runs `kinship operator --install` with one wrong value. The error names the flag and the value, and
// nothing is applied.
func TestBadFlags(t *testing.T) {
	_, help, _ := offline(t, "operator", "--help")
	kubectl := pflag.NewFlagSet("", pflag.ContinueOnError)
	kubectl.String(clientcmd.RecommendedConfigPathFlag, "", "")
	clientcmd.BindOverrideFlags(&clientcmd.ConfigOverrides{}, kubectl, clientcmd.RecommendedConfigOverrideFlags(""))
	found := 0
	for _, m := range flagLine.FindAllStringSubmatch(help, -1) {
		if kubectl.Lookup(m[1]) != nil {
			continue
		}
		found++
		if badValues[m[1]] == "" {
			t.Errorf("badValues has no value for --%s", m[1])
		}
	}
	if found != len(badValues) {
		t.Errorf("%d flags have values, and badValues has %d", found, len(badValues))
	}
	for name, value := range badValues {
		t.Run(name, func(t *testing.T) { refusesToInstall(t, []string{"--" + name, value}, "--"+name, value) })
	}
	for name, value := range badEnvironment {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
			t.Setenv(name, value)
			refusesToInstall(t, nil, name, value)
		})
	}
	if found := examine(t, unexamined(t), noTime); !slices.Contains(found, "NotInstalled Namespace/kinship-system") {
		t.Errorf("something was installed: %q", found)
	}
}

// refusesToInstall installs with flags, and expects an error that has all of want.
func refusesToInstall(t *testing.T, flags []string, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // Without an error, the operator runs.
	defer cancel()
	args := []string{
		"kinship", "operator", "--install", "--kubeconfig", testenv.Kubeconfig(t), "--webhook-host", "127.0.0.1",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0",
	}
	if slices.Contains(flags, "--metrics-cert-dir") {
		args = append(args, "--metrics-bind-address", "127.0.0.1:0")
	}
	if slices.Contains(flags, "--using-kinds") {
		args = append(args, "--kinds", "secrets")
	}
	var out, errOut bytes.Buffer
	code := cli.Main(ctx, "dev", append(args, flags...), strings.NewReader(""), &out, &errOut)
	_, text, _ := strings.Cut(errOut.String(), "Error: ")
	for _, part := range want {
		if code == 0 || !strings.Contains(text, part) {
			t.Errorf("code %d, want an error with %q: %s", code, part, text)
		}
	}
}
