package options

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
	"github.com/kinship-dev/kinship/internal/pack/usage"
)

// check returns an error that names every option with a wrong value, by its flag.
func (o Options) check() error {
	_, unknown := ChosenPacks(o)
	if unknown != nil {
		unknown = fmt.Errorf("--packs: %w", unknown)
	}
	return errors.Join(
		unknown, checkNamespaces(o.Namespaces),
		checkOneOf("--enforcement", o.Enforcement, pack.ByWebhook, pack.ByPolicy),
		checkOneOf("--identity", o.Iot.Identity, iot.WorkloadIdentity, iot.PodIdentity),
		checkUsage(o.Usage), checkOpenstack(o.Openstack), checkAzure(o.Azure),
		checkKinds("--oam-kinds", o.Oam.Kinds), CheckOamKinds(o), checkWebhookAddress(o), checkAdmission(o),
		checkProfiles(o), checkTracing(o),
	)
}

// checkOneOf returns an error unless a value is one of known, or empty.
func checkOneOf[T ~string](flag string, value T, known ...T) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	names := make([]string, 0, len(known))
	for _, k := range known {
		names = append(names, string(k))
	}
	return fmt.Errorf("%s is %q: it can be %s", flag, value, strings.Join(names, " or "))
}

// checkNotNegative returns an error for a negative number.
func checkNotNegative[T ~int | ~int64](flag string, value T) error {
	if value < 0 {
		return fmt.Errorf("%s is %v: it must not be negative; leave the flag out for the default", flag, value)
	}
	return nil
}

func checkUsage(o usage.Options) error {
	return errors.Join(
		checkOneOf("--usage-lifted-by", o.LiftedBy, usage.LiftedByAll...),
		checkKinds("--kinds", o.Kinds), checkKinds("--using-kinds", o.Using),
		checkNotNegative("--usage-grace-period", o.GracePeriod), checkNotNegative("--usage-replay-expiry", o.ReplayExpiry),
		checkNotNegative("--usage-max-per-namespace", o.MaxPerNamespace),
	)
}

// checkKinds returns an error for the first resource that kubectl would not write in this form, such as * or a/b.
func checkKinds(flag string, kinds []schema.GroupResource) error {
	for _, k := range kinds {
		valid := len(validation.IsDNS1123Label(k.Resource)) == 0 &&
			(k.Group == "" || len(validation.IsDNS1123Subdomain(k.Group)) == 0)
		if !valid {
			return fmt.Errorf("%s has %q, which is no resource: name it as kubectl does, such as deployments.apps", flag, k)
		}
	}
	return nil
}

func checkOpenstack(o openstack.Options) error {
	errs := []error{
		checkOneOf("--openstack-conditions", o.Conditions, openstack.PublishedConditions, openstack.AllConditions),
		checkNotNegative("--openstack-workers", o.Workers), checkNotNegative("--openstack-calls", o.Calls),
	}
	if o.QPS < 0 || math.IsNaN(o.QPS) || math.IsInf(o.QPS, 0) {
		errs = append(errs, fmt.Errorf("--openstack-qps is %v: it must be a number of calls per second, such as 50", o.QPS))
	}
	for _, pattern := range o.Hosts {
		if _, err := path.Match(pattern, ""); err != nil || strings.ContainsAny(pattern, "/ ") || pattern == "" {
			errs = append(errs, fmt.Errorf("--openstack-hosts has %q: it must be the name of a host, in which * stands for "+
				"any text, such as *.cloud.example", pattern))
		}
	}
	return errors.Join(errs...)
}

func checkAzure(o azure.Options) error {
	errs := []error{
		checkOneOf("--azure-credential", o.Credential,
			azure.SecretCredential, azurecloud.DefaultCredential, azurecloud.NoCredential),
		checkOneOf("--azure-submission", o.Submission, azure.ByPut, azure.ByDeployment),
	}
	if err := azurecloud.CheckEndpoint(o.Endpoint, o.Credential == azurecloud.DefaultCredential); err != nil {
		errs = append(errs, fmt.Errorf("--azure-endpoint is %q: %w", o.Endpoint, err))
	}
	if o.Subscription != "" && uuid.Validate(o.Subscription) != nil {
		errs = append(errs, fmt.Errorf("--azure-subscription is %q: it must be the GUID of a subscription, as "+
			"`az account list` prints it", o.Subscription))
	}
	return errors.Join(errs...)
}

// checkWebhookAddress returns an error for a host or a port at which the API server can't call webhooks.
func checkWebhookAddress(o Options) error {
	var errs []error
	if o.WebhookPort < 0 || o.WebhookPort > math.MaxUint16 {
		errs = append(errs, fmt.Errorf("--webhook-port is %d: it must be a port, such as 9443", o.WebhookPort))
	}
	host := o.WebhookHost
	if host != "" && net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0 {
		errs = append(errs, fmt.Errorf("--webhook-host is %q: it must be a DNS name or an IP address, without a port "+
			"(--webhook-port)", host))
	}
	return errors.Join(errs...)
}

func checkProfiles(o Options) error {
	if o.ProfileAddress == "" || o.ProfileAddress == "0" {
		return nil
	}
	if err := checkLoopback(o.ProfileAddress); err != nil {
		return fmt.Errorf("--pprof-bind-address is %q, and anybody may read profiles: %w", o.ProfileAddress, err)
	}
	return nil
}

// checkTracing checks --otlp-endpoint and, if the operator sends traces, those variables of OpenTelemetry with which
// the SDK would fail, or whose wrong values the SDK would ignore.
func checkTracing(o Options) error {
	errs := []error{checkURL("--otlp-endpoint", o.TraceEndpoint)}
	if Receiver(o) == "" {
		return errors.Join(errs...)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		errs = append(errs, checkURL(name, os.Getenv(name)))
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"} {
		value := os.Getenv(name)
		if _, err := strconv.ParseUint(value, 10, 31); value != "" && err != nil {
			errs = append(errs, fmt.Errorf("%s is %q: it must be a number of milliseconds, such as 10000", name, value))
		}
	}
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
		"OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
	} {
		if file := os.Getenv(name); file != "" {
			if _, err := os.ReadFile(file); err != nil {
				errs = append(errs, fmt.Errorf("%s is %q: it must be a file that the operator can read: %w", name, file, err))
			}
		}
	}
	return errors.Join(append(errs, checkSampler())...)
}

// Receiver returns the URL of the receiver of traces, or "" if the operator sends no traces.
func Receiver(o Options) string {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return ""
	}
	return cmp.Or(o.TraceEndpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"),
		os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
}

// checkURL returns an error unless a value is empty or the URL of a receiver of traces.
func checkURL(name, value string) error {
	if value == "" {
		return nil
	}
	_, err := ParseURL(name, value)
	return err
}

// ParseURL parses the URL of a receiver of traces.
func ParseURL(name, value string) (*url.URL, error) {
	endpoint, err := url.Parse(value)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, fmt.Errorf("%s is %q: it must be a URL, such as http://collector:4318", name, value)
	}
	return endpoint, nil
}

// checkSampler checks OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG: for an unknown value the SDK would sample all
// traces.
func checkSampler() error {
	sampler, argument := os.Getenv("OTEL_TRACES_SAMPLER"), os.Getenv("OTEL_TRACES_SAMPLER_ARG")
	err := checkOneOf("OTEL_TRACES_SAMPLER", sampler, "always_on", "always_off", "traceidratio", "parentbased_always_on",
		"parentbased_always_off", "parentbased_traceidratio")
	if err != nil || argument == "" || !strings.HasSuffix(sampler, "traceidratio") {
		return err
	}
	if ratio, err := strconv.ParseFloat(argument, 64); err != nil || ratio < 0 || ratio > 1 {
		return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q: it must be a share of the traces from 0 to 1", argument)
	}
	return nil
}
