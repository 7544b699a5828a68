package main

import "slices"

// Names of the scenarios for --scenarios.
const (
	latencyScenario    = "latency"
	onboardingScenario = "onboarding"
	blockedScenario    = "blocked"
	idleScenario       = "idle"
	admissionScenario  = "admission"
	restartScenario    = "restart"
	stripScenario      = "strip"
	neighbourScenario  = "neighbour"
	releasePlain       = "release-plain"
	releaseComposed    = "release-composed"
	releaseReplay      = "release-replay"
	releaseGC          = "release-gc"
)

var releases = []string{releasePlain, releaseComposed, releaseReplay, releaseGC}

// names lists all scenarios.
func names() []string {
	return append([]string{
		latencyScenario, onboardingScenario, idleScenario, blockedScenario, admissionScenario, stripScenario,
		restartScenario, neighbourScenario,
	}, releases...)
}

// expand returns the scenarios for a name in --scenarios, or nil.
func expand(name string) []string {
	switch {
	case name == "all":
		return names()
	case name == "release":
		return releases
	case slices.Contains(names(), name):
		return []string{name}
	default:
		return nil
	}
}

// steps returns the sizes of the populations: 1,000, then n.
func steps(n int) []int {
	const first = 1000
	if n <= first {
		return []int{n}
	}
	return []int{first, n}
}
