package presence

import (
	"encoding/json"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/usage"
)

// SettingsAnnotation is the annotation of an operator's Lease with the operator's [Settings].
const SettingsAnnotation = "kinship.dev/operator"

// Settings are the [options.Options] that decide which CustomResourceDefinitions, rights and guards an
// operator needs. Each operator records its Settings in its Lease for other commands, such as
// `kinship doctor`. Only users with rights in namespace kinship-system can write the Lease.
type Settings struct {
	Version     string           `json:"version,omitempty"`
	Packs       []string         `json:"packs"`
	Enforcement pack.Enforcement `json:"enforcement,omitempty"`
	Namespaces  []string         `json:"namespaces,omitempty"`
	Kinds       []string         `json:"kinds,omitempty"`
	UsingKinds  []string         `json:"usingKinds,omitempty"`
	OamKinds    []string         `json:"oamKinds,omitempty"`
	Identity    iot.Identity     `json:"identity,omitempty"`
	LiftedBy    usage.LiftedBy   `json:"liftedBy,omitempty"`
	WebhookHost string           `json:"webhookHost,omitempty"`
	WebhookPort int              `json:"webhookPort,omitempty"`
	LeaderElect bool             `json:"leaderElect,omitempty"`
}

// settingsOf returns the [Settings] of an operator with these [options.Options].
func settingsOf(o options.Options) (Settings, error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{
		Version: o.Version, Enforcement: o.Enforcement, Namespaces: o.Namespaces, Kinds: resourceNames(o.Usage.Kinds),
		UsingKinds: resourceNames(o.Usage.Using), OamKinds: resourceNames(o.Oam.Kinds), Identity: o.Iot.Identity,
		LiftedBy: o.Usage.LiftedBy, WebhookHost: o.WebhookHost, WebhookPort: o.WebhookPort, LeaderElect: o.LeaderElect,
	}
	for _, p := range chosen {
		s.Packs = append(s.Packs, p.Name)
	}
	return s, nil
}

// Address returns where an operator with these [Settings] answers webhooks, as Options.WebhookAddress does, or an empty
// text for an operator that answers none or is of a release that did not record its port.
func (s Settings) Address() string {
	if s.WebhookPort == 0 || s.Enforcement == pack.ByPolicy {
		return ""
	}
	return options.Options{WebhookHost: s.WebhookHost, WebhookPort: s.WebhookPort}.WebhookAddress()
}

// Apply fills empty [options.Options] from the [Settings]. apply keeps each option that the caller has set.
func (s Settings) Apply(o options.Options) options.Options {
	if len(o.Packs) == 0 {
		o.Packs = slices.DeleteFunc(slices.Clone(s.Packs), func(name string) bool {
			return !slices.Contains(options.PackNames(), name) // A newer release may have more packs.
		})
	}
	if o.Enforcement == "" {
		o.Enforcement = s.Enforcement
	}
	if len(o.Namespaces) == 0 {
		o.Namespaces = s.Namespaces
	}
	if len(o.Usage.Kinds) == 0 {
		o.Usage.Kinds, o.Usage.Using = resources(s.Kinds), resources(s.UsingKinds)
	}
	if o.Usage.LiftedBy == "" {
		o.Usage.LiftedBy = s.LiftedBy
	}
	if len(o.Oam.Kinds) == 0 {
		o.Oam.Kinds = resources(s.OamKinds)
	}
	if o.Iot.Identity == "" {
		o.Iot.Identity = s.Identity
	}
	return o
}

// recordedSettings reads the [Settings] in a Lease. An operator of an earlier release records no
// [Settings].
func recordedSettings(lease *coordinationv1.Lease) (s Settings, known bool, err error) {
	text := lease.Annotations[SettingsAnnotation]
	if text == "" {
		return s, false, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, false, fmt.Errorf("read annotation %s of Lease %s: %w", SettingsAnnotation, lease.Name, err)
	}
	return s, true, nil
}

// text returns the [Settings] as the value of SettingsAnnotation.
func (s Settings) text() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write the settings of the operator: %w", err)
	}
	return string(text), nil
}

func resourceNames(all []schema.GroupResource) []string {
	names := make([]string, 0, len(all))
	for _, r := range all {
		names = append(names, r.String())
	}
	return names
}

func resources(names []string) []schema.GroupResource {
	all := make([]schema.GroupResource, 0, len(names))
	for _, name := range names {
		all = append(all, schema.ParseGroupResource(name))
	}
	return all
}
