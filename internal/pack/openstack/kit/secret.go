package kit

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/external"
)

// Secret reads a value of a Secret from the API server, and does not keep the value.
func (c *Connector) Secret(ctx context.Context, namespace, name, key string) (string, error) {
	var secret corev1.Secret
	if err := c.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret); err != nil {
		return "", Undone(fmt.Errorf("read Secret %s: %w", name, err))
	}
	value := string(secret.Data[key])
	if value == "" { // A new version of the Secret requeues the object at once.
		return "", &external.Error{Class: external.Invalid, Message: fmt.Sprintf("Secret %s has no key %s", name, key)}
	}
	return value, nil
}

// WithSecret returns an actuator that sends one more field: in POST, and in an update that
// names the field. The value is withheld from errors, because a service may repeat a request in
// its error.
func (a Actuator[K]) WithSecret(field, value string) Actuator[K] {
	table, fields := *a.Table, a.Fields
	table.Fields = func(in external.Input[K]) []Field { return append(fields(in), Always(field, value)) }
	a.Table, a.secret = &table, value
	return a
}
