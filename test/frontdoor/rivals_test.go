package frontdoor_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestRivals installs beside a running operator. At another address, the second operator is refused before it writes:
// its end would leave no operator that answers. After the first operator is killed, the second operator takes over,
// although the Lease of the first is fresh, and also if another program listens on the port of the first.
func TestRivals(t *testing.T) {
	port := testenv.FreePort(t)
	first := operator.Exec(t, "--packs", "usage", "--webhook-port", strconv.Itoa(port))
	address := func(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
	install := func(port int, packs ...string) error {
		o := options(t, packs...)
		o.Install, o.WebhookPort = true, port
		return app.Install(t.Context(), o)
	}
	before, other := webhookHosts(t), testenv.FreePort(t)
	err := install(other, "usage", "iot")
	if err == nil {
		t.Fatal("a second operator took the webhooks of an operator that runs")
	}
	for _, want := range []string{
		"nothing was installed", "--webhook-port", "_" + strconv.Itoa(first.PID()) + " (Lease kinship-running-",
		"webhooks of pack usage at " + address(port), "call " + address(other) + " instead", "stop that operator",
		"--packs", "--take-webhooks",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if diff := cmp.Diff(before, webhookHosts(t)); diff != "" {
		t.Errorf("the webhooks of the first operator changed (-before +after):\n%s", diff)
	}
	for reason, install := range map[string]func() error{
		"a replica at the same address": func() error { return install(port, "usage") },
		"an operator of another pack":   func() error { return install(other, "iot") },
	} {
		if err := install(); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}

	first.Kill()
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		t.Fatal(err)
	}
	go hangUp(listener)
	if err := install(other, "usage"); err != nil {
		t.Errorf("after the first operator was killed, with another program on its port: %v", err)
	}
	if err := install(port, "usage"); err != nil {
		t.Errorf("back to the port of the first operator, which nobody answers: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := install(other, "usage"); err != nil {
		t.Errorf("after the first operator was killed: %v", err)
	}
	u := app.UninstallOptions{WithObjects: true, ForceLive: true, Say: func(string, ...any) {}}
	if err := app.Uninstall(t.Context(), options(t), u); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
}

// hangUp ends each connection, until the listener is closed.
func hangUp(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		_ = connection.Close()
	}
}

// webhookHosts returns host and port of the webhooks in each webhook configuration.
func webhookHosts(t *testing.T) map[string][]string {
	t.Helper()
	var list admissionregistrationv1.ValidatingWebhookConfigurationList
	err := operator.Client(t).List(t.Context(), &list, client.MatchingLabels{"app.kubernetes.io/part-of": "kinship"})
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string][]string{}
	for _, c := range list.Items {
		for _, w := range c.Webhooks {
			hosts[c.Name] = append(hosts[c.Name], *w.ClientConfig.URL)
		}
	}
	return hosts
}
