package azure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
)

// secrets returns the SecretKeys in the spec of an object.
func (k *kind) secrets(obj *external.Unstructured) []catalogue.FoundSecret {
	found, err := k.Secrets(specOf(obj))
	if err != nil {
		return nil // newKind reports a definition that cannot be decoded.
	}
	return found
}

// secretVersions are the versions of the data of Secrets, by the names of the Secrets.
type secretVersions map[string]string

// versionsOf returns the versions of the Secrets in the sensitive fields of an object.
func (k *kind) versionsOf(ctx context.Context, in Input) (secretVersions, error) {
	all := secretVersions{}
	for _, found := range k.secrets(in.Object) {
		key := types.NamespacedName{Namespace: in.Object.GetNamespace(), Name: found.Name}
		version, err := k.connector.secrets.Version(ctx, key, in.Refs.Version(secretKind.GroupKind(), found.Name))
		if err != nil {
			return nil, err
		}
		all[found.Name] = version
	}
	return all, nil
}

// opened are the values of the sensitive fields of an object.
type opened struct {
	values   map[catalogue.SecretKey][]byte
	versions secretVersions
}

// open reads the Secrets of an object. The error of a missing key names the Secret and the key.
func (a actuator) open(ctx context.Context) (opened, error) {
	all := opened{values: map[catalogue.SecretKey][]byte{}, versions: secretVersions{}}
	data := map[string]map[string][]byte{}
	for _, found := range a.secrets(a.object) {
		if _, ok := data[found.Name]; !ok {
			var err error
			key := types.NamespacedName{Namespace: a.object.GetNamespace(), Name: found.Name}
			data[found.Name], all.versions[found.Name], err = a.connector.secrets.Read(ctx, key, "")
			if err != nil {
				return opened{}, err
			}
		}
		value := data[found.Name][found.Key]
		if len(value) == 0 {
			return opened{}, &external.Error{
				Class: external.Refused, After: slowly, Reason: condition.ReasonWaitingForReference,
				Message: fmt.Sprintf("Waiting for Secret/%s to have the key %s (%s)", found.Name, found.Key, found.Path),
			}
		}
		all.values[found.SecretKey] = value
	}
	return all, nil
}

// reveal returns a body with wrap(value) in the place of each catalogue.Hidden.
func (o opened) reveal(body map[string]any, wrap func(any) any) (map[string]any, error) {
	if len(o.values) == 0 {
		return body, nil
	}
	revealed, err := catalogue.Reveal(body, func(h catalogue.Hidden) (any, error) {
		value, err := h.Decode(o.values[h.SecretKey])
		return wrap(value), err
	})
	if err != nil {
		return nil, invalid(err)
	}
	return revealed, nil
}

// withhold returns an error without the values.
func (o opened) withhold(err error) error {
	texts := make([]string, 0, len(o.values))
	for _, value := range o.values {
		texts = append(texts, string(value))
	}
	// The longest first: a value may be a part of another one.
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	return external.Withhold(err, texts...)
}

// told removes the values of the object's Secrets from an error of ARM: ARM may repeat a password. If the Secrets have
// changed since the last PUT, the former values are unknown, and told replaces the whole text of ARM.
func (a actuator) told(ctx context.Context, err error) error {
	known, ok := errors.AsType[*external.Error](err)
	sent := sentOf(a.object)
	if !ok || known.Class == external.Missing || sent == "" || len(a.secrets(a.object)) == 0 {
		return err
	}
	all, unread := a.open(ctx)
	body, invalid := a.body()
	if unread == nil && invalid == nil && digest(body, all.versions) == sent {
		return all.withhold(err)
	}
	refused := *known
	refused.Message = "Azure refused the request. Its text is not shown, because it may have the former value of a secret"
	return &refused
}

// String returns the versions in the order of the names, for a digest.
func (v secretVersions) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		text.WriteString("\n" + name + " " + v[name])
	}
	return text.String()
}
