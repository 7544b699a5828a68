package app

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
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
	// lost are the guards that are missing, altered or can't be seen. silent are the guards whose
	// webhooks do not answer. The values are the reasons.
	lost, silent map[string]string
}

func newProtection(pack string, guards []string, log logr.Logger) *protection {
	return &protection{
		pack: pack, guards: guards, log: log,
		desc: prometheus.NewDesc("kinship_protection_off",
			"Whether a guard is missing or altered, can't be seen, or its webhooks do not answer.",
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
	case slices.Equal(before, now):
	case len(now) > 0:
		warn(p.log, "Protection is off", append([]any{"reason", strings.Join(now, "; ")}, values...)...)
	default:
		p.log.Info("Protection is on again")
	}
}

// reasons returns a text for each guard that does not work. The caller holds protection.mu.
func (p *protection) reasons() []string {
	all := maps.Clone(p.silent)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, p.lost) // A webhook configuration that is missing has no address to ask.
	texts := make([]string, 0, len(all))
	for _, guard := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, guard+" "+all[guard])
	}
	return texts
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
