package frontdoor_test

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
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
		o := optionsFor(t, packs...)
		o.Install, o.WebhookPort = true, port
		return install.Install(t.Context(), o)
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
	u := uninstall.Options{WithObjects: true, ForceLive: true, Say: func(string, ...any) {}}
	if err := uninstall.Uninstall(t.Context(), optionsFor(t), u); err != nil {
		t.Fatalf("uninstall: %v", err)
	}
}

// TestRivalEnforcement: an installation with another --enforcement beside an operator that runs is refused, in both
// directions. If it takes over all the same, the operator that runs does not put its guards back: it says that
// protection is off, and both operators' guards do not alternate.
func TestRivalEnforcement(t *testing.T) {
	install := func(by pack.Enforcement, take bool) error {
		o := optionsFor(t, "usage")
		o.Install, o.Enforcement, o.WebhookPort, o.TakeWebhooks = true, by, testenv.FreePort(t), take
		return install.Install(t.Context(), o)
	}
	first := operator.Exec(t, "--packs", "usage")
	before := webhookHosts(t)
	err := install(pack.ByPolicy, false)
	if err == nil || !strings.Contains(err.Error(), "--enforcement") || !strings.Contains(err.Error(), "--take-webhooks") {
		t.Fatalf("an installation by policy beside webhooks: %v", err)
	}
	if diff := cmp.Diff(before, webhookHosts(t)); diff != "" {
		t.Errorf("the webhooks of the first operator changed (-before +after):\n%s", diff)
	}
	if err := install(pack.ByPolicy, true); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		code, text := first.Readyz(t)
		if code == http.StatusOK || !strings.Contains(text, "guards-usage failed") {
			return fmt.Errorf("readyz says %d: %s", code, text)
		}
		return nil
	})
	if hosts := webhookHosts(t); len(hosts) > 0 {
		t.Errorf("the webhooks are back: %v", hosts)
	}
	if log := first.Log(); !strings.Contains(log, "Protection is off") || strings.Contains(log, "Protection is on again") {
		t.Error("the log does not tell that protection is off")
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := operator.Exec(t, "--packs", "usage", "--enforcement", "policy")
	err = install(pack.ByWebhook, false)
	if err == nil || !strings.Contains(err.Error(), "--enforcement") {
		t.Errorf("an installation of webhooks beside policies: %v", err)
	}
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	removeAll(t)
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
