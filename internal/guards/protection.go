package guards

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinship-dev/kinship/internal/logging"
)

// protection reports which guards of a pack do not work: in the metric kinship_protection_off and,
// at each change, in one line of the log.
type protection struct {
	pack string
	// guards are all guards of the pack by keyOf, such as "ValidatingWebhookConfiguration
	// kinship-usage".
	guards []string
	log    logr.Logger
	desc   *prometheus.Desc

	mu sync.Mutex
	// lost are the guards that are missing, altered, or can't be seen or read, and silent the guards whose
	// webhooks do not answer, each with the reason.
	lost, silent map[string]string
}

func newProtection(pack string, guards []string, log logr.Logger) *protection {
	return &protection{
		pack: pack, guards: guards, log: log,
		desc: prometheus.NewDesc("kinship_protection_off",
			"Whether a guard is missing or altered, can't be seen or read, or its webhooks do not answer.",
			[]string{"guard"}, prometheus.Labels{"pack": pack}),
	}
}

// setLost sets protection.lost. The parameter paused says whether reconcile.Gate stops the pack's
// controllers.
func (p *protection) setLost(lost map[string]string, paused bool) {
	p.change(func() { p.lost = lost }, "paused", paused)
}

// setSilent sets protection.silent.
func (p *protection) setSilent(silent map[string]string) {
	p.change(func() { p.silent = silent })
}

// change calls set, and logs the reasons if the reasons differ from before.
func (p *protection) change(set func(), values ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.reasons()
	set()
	now := p.reasons()
	switch {
	case maps.EqualFunc(before, now, sameError):
	case len(now) > 0:
		texts := make([]string, 0, len(now))
		for _, guard := range slices.Sorted(maps.Keys(now)) {
			texts = append(texts, guard+" "+now[guard])
		}
		logging.Warn(p.log, "Protection is off", append([]any{"reason", strings.Join(texts, "; ")}, values...)...)
	default:
		p.log.Info("Protection is on again")
	}
}

// reasons returns why guards do not work, by guard. The caller holds protection.mu.
func (p *protection) reasons() map[string]string {
	all := maps.Clone(p.silent)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, p.lost) // A webhook configuration that is missing has no address to ask.
	return all
}

// sameError reports whether two texts of errors differ at most in their digits. The text of a failure that
// lasts may name another port or time after each attempt, as in "read tcp 127.0.0.1:4711->127.0.0.1:9443"
// or "current time 2026-01-02T03:04:05Z is after ...".
func sameError(a, b string) bool { return withoutDigits(a) == withoutDigits(b) }

func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// Describe implements prometheus.Collector.
func (p *protection) Describe(descs chan<- *prometheus.Desc) { descs <- p.desc }

// Collect implements prometheus.Collector.
func (p *protection) Collect(metrics chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, guard := range p.guards {
		off := 0.0
		if p.lost[guard] != "" || p.silent[guard] != "" {
			off = 1
		}
		metrics <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, off, guard)
	}
}
