package certificate

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// read returns the Secret and the state in it. Either is nil if there is none
// that can be continued.
func (m *Manager) read(ctx context.Context) (*corev1.Secret, *state, error) {
	secret := &corev1.Secret{}
	err := m.options.Client.Get(ctx, m.options.Secret, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read webhook certificates: %w", err)
	}
	if len(secret.Data[keyRecord]) == 0 {
		if !empty(secret) {
			return nil, nil, fmt.Errorf("read webhook certificates from Secret %v: %w", m.options.Secret, ErrForeignSecret)
		}
		return secret, nil, nil
	}
	s, err := decode(secret.Data)
	if err != nil {
		// Ours, and damaged. Refusing would keep every webhook down until a
		// person comes; all that is lost is keys which nobody else may use.
		log.FromContext(ctx).Error(err, "Webhook certificates are unusable and will be made anew",
			"secret", m.options.Secret)
		return secret, nil, nil
	}
	return secret, s, nil
}

// empty reports whether a Secret was made for us to fill. A Secret of type
// kubernetes.io/tls must have its keys, so their values decide.
func empty(secret *corev1.Secret) bool {
	for _, value := range secret.Data {
		if len(value) > 0 {
			return false
		}
	}
	return true
}

// write stores the state over the Secret as it was read, or creates it. It
// returns false if somebody else wrote in between.
func (m *Manager) write(ctx context.Context, secret *corev1.Secret, s *state) (bool, error) {
	data, err := s.encode()
	if err != nil {
		return false, fmt.Errorf("write webhook certificates: %w", err)
	}
	if secret == nil {
		err = m.options.Client.Create(ctx, m.newSecret(data))
	} else {
		err = m.options.Client.Update(ctx, withData(secret, data))
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && secret != nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write webhook certificates to Secret %v: %w", m.options.Secret, err)
	}
	return true, nil
}

func (m *Manager) newSecret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.options.Secret.Namespace,
			Name:      m.options.Secret.Name,
			Labels:    map[string]string{"app.kubernetes.io/managed-by": "kinship"},
		},
		Type: corev1.SecretTypeTLS,
		Data: data,
	}
}

// withData replaces our keys and leaves what others may have added.
func withData(secret *corev1.Secret, data map[string][]byte) *corev1.Secret {
	secret = secret.DeepCopy()
	delete(secret.Data, keyIncoming)
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	return secret
}
