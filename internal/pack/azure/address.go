package azure

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
)

// desired is the resource that an object requests. kind.connect makes a desired for the requests of a pass,
// which compute ownerID and body once. Address and serial of the kind make their own: the engine calls these
// before it connects.
type desired struct {
	*kind

	object *external.Unstructured
	// id returns the ARM id of an object in the same namespace, or "".
	id func(gk schema.GroupKind, name string) string
	// subscription is the subscription of the object's credentials, or "".
	subscription string
	// versions are the versions of the Secrets in sensitive fields.
	versions secretVersions
	// ownerID returns the ARM id of the owner in the spec or, for a resource without an owner, of its scope.
	ownerID func() (azure.ID, error)
	// body returns the body of a PUT. The caller must not change the body.
	body func() (map[string]any, error)
}

// desired returns the desired resource of an object that the operator reconciles.
func (k *kind) desired(in Input) *desired {
	return newDesired(k, in.Object, k.connector.subscription(in), in.Refs.ID)
}

func newDesired(
	k *kind, obj *external.Unstructured, subscription string, id func(gk schema.GroupKind, name string) string,
) *desired {
	d := &desired{kind: k, object: obj, subscription: subscription, id: id}
	d.ownerID, d.body = sync.OnceValues(d.findOwner), sync.OnceValues(d.toSend)
	return d
}

// idOf returns the ARM id of the resource, which may not exist yet.
func (d *desired) idOf() (azure.ID, error) {
	if known := d.object.GetExternalStatus().ID; known != nil {
		return azure.ParseID(*known)
	}
	return d.address()
}

// address returns the ARM id of the resource, from the ARM id of its owner.
func (d *desired) address() (azure.ID, error) {
	if err := azure.CheckName(d.nameOf(d.object)); err != nil {
		return azure.ID{}, fmt.Errorf("spec.%s: %w", catalogue.AzureNameField, err)
	}
	owner, err := d.ownerID()
	if err != nil {
		if owner, err = d.attemptedOwner(d.object, err); err != nil {
			return azure.ID{}, err
		}
	}
	id, err := owner.Child(d.Type, d.nameOf(d.object))
	if err != nil {
		return azure.ID{}, fmt.Errorf("spec.%s: %w", catalogue.AzureNameField, err)
	}
	return id, nil
}

// checkAddress returns an error if the spec of an object without a resource gives no ARM id.
func (d *desired) checkAddress() error {
	if d.object.GetExternalStatus().ID != nil {
		return nil
	}
	id, _ := d.object.GetImport()
	if id == "" {
		_, err := d.address()
		return err
	}
	if _, err := d.parse(id); err != nil {
		return fmt.Errorf("spec.import.id: %w", err)
	}
	return nil
}

// attemptedOwner returns the ARM id of the owner in the IntentAnnotation, which an attempt to create the
// resource has recorded. address calls attemptedOwner for a deleted object whose owner does not exist.
func (k *kind) attemptedOwner(obj *external.Unstructured, why error) (azure.ID, error) {
	attempt := struct{ Place string }{}
	text := obj.GetAnnotations()[external.IntentAnnotation(Prefix)]
	if obj.GetDeletionTimestamp() == nil || json.Unmarshal([]byte(text), &attempt) != nil {
		return azure.ID{}, why
	}
	return k.parseOwner(attempt.Place)
}

// findOwner computes desired.ownerID.
func (d *desired) findOwner() (azure.ID, error) {
	reference, named, err := catalogue.Owner(specOf(d.object))
	if err != nil {
		return azure.ID{}, err
	}
	switch {
	case !named:
		return d.scopeWithoutOwner()
	case reference.Azure != nil:
		return d.azureOwner(*reference.Azure)
	case reference.Kubernetes == nil:
		return azure.ID{}, fmt.Errorf("spec.%s can't be a part of the resource itself", catalogue.OwnerField)
	}
	owner, gk := d.owner(d.object)
	text := d.id(gk, owner.Name)
	if text == "" {
		return azure.ID{}, fmt.Errorf("the id of the owner %s/%s isn't known", gk.Kind, owner.Name)
	}
	return d.parseOwner(text)
}

// scopeWithoutOwner returns the subscription of the credentials, or the tenant.
func (d *desired) scopeWithoutOwner() (azure.ID, error) {
	if d.Scopes.Has(catalogue.SubscriptionScope) {
		if d.subscription == "" {
			return azure.ID{}, fmt.Errorf("no subscription is known: name one in spec.%s.azure.subscription",
				catalogue.OwnerField)
		}
		return azure.ParseID("/subscriptions/" + d.subscription)
	}
	if d.Scopes.Has(catalogue.TenantScope) {
		return azure.ID{}, nil
	}
	return azure.ID{}, fmt.Errorf("spec.%s is missing", catalogue.OwnerField)
}

// azureOwner returns the ARM id of an owner in spec.ownerRef.azure. Without a subscription there,
// the subscription of the credentials counts.
func (d *desired) azureOwner(reference catalogue.AzureReference) (azure.ID, error) {
	from := ""
	if d.subscription != "" {
		from = "/subscriptions/" + d.subscription
	}
	text, err := reference.ID(from)
	if err != nil {
		return azure.ID{}, fmt.Errorf("spec.%s: %w", catalogue.OwnerField, err)
	}
	return d.parseOwner(text)
}

// parseOwner parses the ARM id of an owner, and refuses an owner of a wrong type.
func (k *kind) parseOwner(text string) (azure.ID, error) {
	id, err := azure.ParseID(text)
	if err != nil {
		return azure.ID{}, fmt.Errorf("spec.%s: %w", catalogue.OwnerField, err)
	}
	return id, k.checkOwner(id)
}

// scopeOwners are the ARM types of the owners in which a resource of a scope is.
var scopeOwners = []struct {
	scope catalogue.Scope
	owner string
}{
	{catalogue.ResourceGroupScope, catalogue.ResourceGroupType},
	{catalogue.SubscriptionScope, "Microsoft.Resources/subscriptions"},
	{catalogue.ManagementGroupScope, "Microsoft.Management/managementGroups"},
}

// checkOwner refuses an owner whose ARM type can't contain a resource of the kind.
func (k *kind) checkOwner(id azure.ID) error {
	if k.Extends() || k.Scopes.Has(catalogue.UnknownScope) {
		return nil
	}
	var allowed []string
	if k.Owner != "" {
		allowed = append(allowed, k.Owner)
	}
	for _, s := range scopeOwners {
		if k.Scopes.Has(s.scope) && strings.Count(k.Type, "/") == 1 && !slices.Contains(allowed, s.owner) {
			allowed = append(allowed, s.owner)
		}
	}
	for _, t := range allowed {
		if strings.EqualFold(t, id.Type()) {
			return k.checkScope(id)
		}
	}
	return fmt.Errorf("spec.%s is the %s %s, and the owner of a %s has to be a %s", catalogue.OwnerField, id.Type(), id,
		k.Kind, strings.Join(allowed, " or "))
}

// checkScope refuses an owner in another resource if the owner's type is no extension.
func (k *kind) checkScope(owner azure.ID) error {
	known := k.all.Default(owner.Type())
	if known == nil || owner.Scope() != azure.ExtensionScope || known.Scopes.Has(catalogue.ExtensionScope) ||
		known.Scopes.Has(catalogue.UnknownScope) {
		return nil
	}
	return fmt.Errorf("spec.%s is %s, and a %s can't be in %s", catalogue.OwnerField, owner, owner.Type(), owner.In())
}

// checkReferences refuses references in the Azure form to an ARM type that the field does not
// allow, and references to objects that are no Azure resources.
func (d *desired) checkReferences() error {
	found, err := d.References(specOf(d.object))
	if err != nil {
		return err
	}
	owner, _ := d.ownerID() // Without an owner, references name subscription and resource group.
	var problems []error
	for _, one := range found {
		err := d.checkTarget(one)
		if one.Azure != nil {
			err = checkReference(one, owner)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", one.Path, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return invalid(err)
	}
	return nil
}

// checkTarget refuses a reference to an object that is no Azure resource, such as a Secret: the
// finalizer azure.kinship.dev/in-use of a reference would block the deletion of the Secret.
func (k *kind) checkTarget(found catalogue.Found) error {
	if found.Kubernetes == nil || k.isKnown(k.targetKind(found.Kubernetes, found.Targets)) {
		return nil
	}
	return fmt.Errorf("no kind of Azure resources is called %s in the group %q", found.Kubernetes.Kind,
		found.Kubernetes.Group)
}

// isKnown reports whether the catalogue has a kind.
func (k *kind) isKnown(gk schema.GroupKind) bool { return len(k.all.ByGroupKind(gk)) > 0 }

func checkReference(found catalogue.Found, owner azure.ID) error {
	text, err := found.Azure.ID(owner.String())
	if err != nil {
		return err
	}
	id, err := azure.ParseID(text)
	if err != nil {
		return err
	}
	wanted := make([]string, 0, len(found.Targets))
	for _, t := range found.Targets {
		armType := strings.TrimSuffix(t.Type+"/"+t.Part, "/")
		if strings.EqualFold(armType, id.Type()) {
			return nil
		}
		wanted = append(wanted, armType)
	}
	if len(wanted) == 0 {
		return nil
	}
	return fmt.Errorf("%s is a %s, want a %s", id, id.Type(), strings.Join(wanted, " or "))
}
