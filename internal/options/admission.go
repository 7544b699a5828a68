package options

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/pack"
)

// Admission returns the options of the webhook server, without Certificates and Room.
func (o Options) Admission() (admission.Options, error) {
	options := admission.Options{
		Host: o.WebhookHost, Port: o.WebhookPort, Protocols: o.WebhookProtocols, Log: o.Log.WithName("webhooks"),
		MaxObject: o.MaxObjectSize,
	}
	for _, network := range o.AdmissionFrom {
		prefix, err := parseNetwork(network)
		if err != nil {
			return options, err
		}
		options.From = append(options.From, prefix)
	}
	if o.AdmissionClientCA == "" {
		return options, nil
	}
	text, err := os.ReadFile(o.AdmissionClientCA)
	if err != nil {
		return options, fmt.Errorf("--admission-client-ca is %q: read the CAs of the API servers: %w",
			o.AdmissionClientCA, err)
	}
	options.ClientCAs = x509.NewCertPool()
	if !options.ClientCAs.AppendCertsFromPEM(text) {
		return options, fmt.Errorf("--admission-client-ca is %q: the file has no certificate in PEM", o.AdmissionClientCA)
	}
	return options, nil
}

// parseNetwork reads a network such as 10.0.0.0/28, or one address.
func parseNetwork(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf("--admission-from has %q: it must be a network or an address of the API servers, "+
			"such as 10.0.0.0/28", text)
	}
	return prefix, nil
}

// checkAdmission returns an error for options of the webhook server that can't work.
func checkAdmission(o Options) error {
	_, err := o.Admission()
	err = errors.Join(err, checkNotNegative("--max-object-size", o.MaxObjectSize),
		checkNotNegative("--max-namespace-size", o.MaxNamespaceSize))
	if o.AdmissionClientCA == "" && len(o.AdmissionFrom) == 0 {
		return err
	}
	if o.Enforcement == pack.ByPolicy {
		err = errors.Join(err, errors.New(
			"--admission-from and --admission-client-ca need webhooks, and --enforcement is policy"))
	}
	return err
}

// Rotate makes running operators replace the secret path of the webhooks or, with certificates, the certificate
// authority as well. Rotate removes the path from the Secret, or deletes the Secret.
func Rotate(ctx context.Context, config *rest.Config, certificates bool) error {
	c, err := NewClient(Options{}, config)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: CertificateSecret}}
	if certificates {
		err = c.Delete(ctx, secret)
	} else {
		removal := fmt.Appendf(nil, `{"data":{%q:null}}`, certificate.PathKey)
		err = c.Patch(ctx, secret, client.RawPatch(types.MergePatchType, removal))
	}
	if err != nil {
		return fmt.Errorf("rotate Secret %s/%s: %w", Namespace, CertificateSecret, err)
	}
	return nil
}

// checkLoopback returns an error unless the host of an address is localhost or a loopback IP, such
// as 127.0.0.1.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is not an address of the loopback interface", address)
	}
	return nil
}

// checkNamespaces returns an error if a name in --namespaces is kinship-system or no valid DNS
// label.
func checkNamespaces(names []string) error {
	for _, name := range names {
		if name == Namespace {
			return fmt.Errorf("--namespaces: %s is the operator's own namespace: leave it out", Namespace)
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("--namespaces: %q is no name of a namespace: %s", name, strings.Join(problems, "; "))
		}
	}
	return nil
}
