package app

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/pack"
)

// admission returns the options of the webhook server, without Certificates.
func (o Options) admission() (admission.Options, error) {
	options := admission.Options{
		Host: o.WebhookHost, Port: o.WebhookPort, Protocols: o.WebhookProtocols, Log: o.Log.WithName("webhooks"),
		MaxObject: o.MaxObjectSize,
	}
	if o.room != nil {
		options.Room = o.room.check
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
	_, err := o.admission()
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
	c, err := newClient(Options{}, config)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: certificateSecret}}
	if certificates {
		err = c.Delete(ctx, secret)
	} else {
		removal := fmt.Appendf(nil, `{"data":{%q:null}}`, certificate.PathKey)
		err = c.Patch(ctx, secret, client.RawPatch(types.MergePatchType, removal))
	}
	if err != nil {
		return fmt.Errorf("rotate Secret %s/%s: %w", Namespace, certificateSecret, err)
	}
	return nil
}
