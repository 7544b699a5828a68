package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Keys of the Secret. Other tools expect a CA in ca.crt and a certificate in tls.crt.
const (
	keyBundle  = "ca.crt"
	keyCA      = "ca.key"
	keyNext    = "next-ca.key"
	keyLeaf    = corev1.TLSCertKey
	keyLeafKey = corev1.TLSPrivateKeyKey
	keyRecord  = "rotation.json"
	keyPath    = "path"
)

// leastPath is the length of rand.Text, whose 26 letters hold 128 random bits.
const leastPath = 26

// PathKey is the key of the Secret with [Bundle.Path]. Who removes the key, or empties its value, makes a running
// operator write a new path.
const PathKey = keyPath

// errForeign is returned for a Secret whose data this package did not write.
var errForeign = errors.New("the Secret holds data that is not ours: name another one, or delete it")

// read returns the Secret and its state. The state is nil if the Secret is missing, empty or
// damaged. A missing Secret is returned without a resourceVersion.
func (m *Manager) read(ctx context.Context) (*corev1.Secret, *state, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.options.Secret.Namespace, Name: m.options.Secret.Name,
	}}
	err := m.options.Client.Get(ctx, m.options.Secret, secret)
	if apierrors.IsNotFound(err) {
		return secret, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read webhook certificates: %w", err)
	}
	if len(secret.Data[keyRecord]) == 0 {
		for _, value := range secret.Data {
			if len(value) > 0 {
				return nil, nil, fmt.Errorf("read webhook certificates from Secret %v: %w", m.options.Secret, errForeign)
			}
		}
		return secret, nil, nil // A chart created the Secret, with empty keys.
	}
	s, err := decode(secret.Data)
	if err != nil {
		// A damaged Secret is replaced: refusing it would keep every webhook down until an
		// administrator acts. The replaced keys belong to this operator only.
		log.FromContext(ctx).Error(err, "Webhook certificates are damaged and will be replaced", "secret", m.options.Secret)
		return secret, nil, nil
	}
	return secret, s, nil
}

// write stores a state in the Secret that read returned. If another replica has written the
// Secret since, the API server answers Conflict for the old resourceVersion, and write returns
// no error: the caller reads again in any case.
func (m *Manager) write(ctx context.Context, secret *corev1.Secret, s *state) error {
	data, err := s.encode()
	if err != nil {
		return fmt.Errorf("encode webhook certificates: %w", err)
	}
	delete(secret.Data, keyNext)
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data) // Keys of other writers stay.
	if secret.ResourceVersion == "" {
		secret.Type, secret.Labels = corev1.SecretTypeTLS, map[string]string{"app.kubernetes.io/managed-by": "kinship"}
		err = m.options.Client.Create(ctx, secret)
	} else {
		err = client.IgnoreNotFound(m.options.Client.Update(ctx, secret))
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("write webhook certificates to Secret %v: %w", m.options.Secret, err)
	}
	return nil
}

// encode returns the data of the Secret. decode reads the data back.
func (s *state) encode() (map[string][]byte, error) {
	keys := map[string]tls.Certificate{keyCA: s.ca, keyLeafKey: s.leaf}
	if s.next.Leaf != nil {
		keys[keyNext] = s.next
	}
	data := map[string][]byte{
		keyBundle: encodeCerts(s.bundle()...),
		keyLeaf:   encodeCerts(s.leaf.Leaf),
		keyPath:   []byte(s.path),
	}
	for name, pair := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		data[name] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	var err error
	data[keyRecord], err = json.Marshal(s.record)
	return data, err
}

// decode checks that the parts of the Secret belong together, so that a Secret that was
// edited in part is never served.
func decode(data map[string][]byte) (*state, error) {
	s := &state{path: strings.ToLower(string(data[keyPath]))} // An earlier release wrote capital letters.
	if err := json.Unmarshal(data[keyRecord], &s.record); err != nil {
		return nil, fmt.Errorf("read %s: %w", keyRecord, err)
	}
	if s.path != "" && (len(s.path) < leastPath || url.PathEscape(s.path) != s.path) {
		return nil, fmt.Errorf("read %s: it is not a secret part of a path", keyPath)
	}
	var err error
	if s.leaf, _, err = decodePair(data, keyLeaf, keyLeafKey); err != nil {
		return nil, err
	}
	if s.ca, s.retiring, err = decodePair(data, keyBundle, keyCA); err != nil {
		return nil, err
	}
	if err := s.leaf.Leaf.CheckSignatureFrom(s.ca.Leaf); err != nil {
		return nil, fmt.Errorf("%s is not signed by the CA of %s: %w", keyLeaf, keyCA, err)
	}
	if _, announced := data[keyNext]; announced {
		if s.next, _, err = decodePair(data, keyBundle, keyNext); err != nil {
			return nil, err
		}
		s.retiring = slices.DeleteFunc(s.retiring, s.next.Leaf.Equal)
	}
	return s, nil
}

// decodePair returns a private key with its certificate, and the other certificates of the
// same entry.
func decodePair(
	data map[string][]byte, certsName, keyName string,
) (pair tls.Certificate, others []*x509.Certificate, err error) {
	certs, err := certutil.ParseCertsPEM(data[certsName])
	if err != nil {
		return pair, nil, fmt.Errorf("read %s: %w", certsName, err)
	}
	for i, cert := range certs {
		if pair, err = tls.X509KeyPair(encodeCerts(cert), data[keyName]); err == nil {
			return pair, slices.Delete(certs, i, i+1), nil
		}
	}
	return pair, nil, fmt.Errorf("find the certificate of %s in %s: %w", keyName, certsName, err)
}

func encodeCerts(certs ...*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, cert := range certs {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: cert.Raw}))
	}
	return text.Bytes()
}

// Read returns what a Manager keeps in a Secret. The error says which part of the data is missing or does not
// belong to the others.
func Read(secret *corev1.Secret) (Bundle, error) {
	s, err := decode(secret.Data)
	if err != nil {
		return Bundle{}, fmt.Errorf("read webhook certificates from Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return s.exported(), nil
}
