package azure

import (
	"context"
	"strings"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
)

// resource is a resource as ARM returned it.
type resource struct {
	// ID is the ARM id in the spelling of the operator. ARM may return the id in another case.
	ID   string
	Body map[string]any
	ETag string
	// desired is what the object of the pass requests.
	desired *desired
}

func identify(r *resource) external.Identity {
	name, _ := r.Body["name"].(string)
	return external.Identity{ID: r.ID, Name: name}
}

// actuator sends the requests for the resource of an object.
type actuator struct {
	*desired

	client *azure.Client
}

// Get implements external.Actuator.
func (a actuator) Get(ctx context.Context, _ Input, text string) (*resource, error) {
	id, err := a.parse(text)
	if err != nil {
		return nil, err
	}
	return a.get(ctx, id, text)
}

func (a actuator) get(ctx context.Context, id azure.ID, text string) (*resource, error) {
	answer, err := a.client.Get(ctx, id, a.APIVersion)
	if err != nil {
		return nil, a.told(ctx, explain(err))
	}
	return a.read(text, answer), nil
}

// read returns the resource of an answer to a request for an ARM id.
func (a actuator) read(asked string, answer azure.Answer) *resource {
	r := &resource{ID: asked, ETag: answer.ETag, desired: a.desired}
	if answer.Body != nil { // No Azure returns a secret.
		r.Body = a.definition.Strip(answer.Body)
	}
	if told, ok := answer.Body["id"].(string); ok && !strings.EqualFold(strings.TrimSuffix(told, "/"), asked) {
		r.ID = told
	}
	return r
}

// Find implements external.Actuator. Find returns nothing: external.Engine reads a resource at its
// address (Kind.Address).
func (a actuator) Find(context.Context, Input, external.Search) ([]*resource, error) { return nil, nil }

// Create implements external.Actuator.
func (a actuator) Create(ctx context.Context, _ Input) (*resource, error) {
	id, err := a.address()
	if err != nil {
		return nil, invalid(err)
	}
	body, err := a.body()
	if err != nil {
		return nil, invalid(err)
	}
	if err := a.lookUpOwner(ctx); err != nil {
		return nil, err
	}
	if err := a.awaitDeployment(ctx, id); err != nil {
		return nil, err
	}
	secrets, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	setStatus(a.object, digest(body, secrets.versions), "sent")
	answer, err := a.submit(ctx, id, body, secrets, azure.Condition{})
	if err != nil {
		return nil, err
	}
	if answer.Operation != nil {
		return nil, pending(answer)
	}
	if answer.Body == nil {
		return a.get(ctx, id, id.String())
	}
	return a.read(id.String(), answer), nil
}

// lookUpOwner sends a GET for an owner in the Azure form (spec.ownerRef.azure), since no object
// says whether that owner exists. lookUpOwner skips an owner without a kind in the catalogue, such
// as a subscription or a management group.
func (a actuator) lookUpOwner(ctx context.Context) error {
	if owner, _ := a.owner(a.object); owner != nil {
		return nil
	}
	id, err := a.ownerID()
	if err != nil {
		return invalid(err)
	}
	known := a.all.Default(id.Type())
	if known == nil {
		return nil
	}
	answer, err := a.client.Get(ctx, id, known.APIVersion)
	switch {
	case azure.IsMissing(err):
		return &external.Error{
			Class: external.Refused, After: ownerPause, Reason: condition.ReasonWaitingForOwner,
			Message: "Waiting for " + id.String() + " to be created in Azure",
		}
	case err != nil:
		return explain(err)
	case !isTerminal(stateOf(answer.Body)):
		return &external.Error{
			Class: external.Refused, After: ownerPause, Reason: condition.ReasonWaitingForOwner,
			Message: "Waiting for " + id.String() + " to be ready in Azure",
		}
	}
	return nil
}

// Update implements external.Actuator. A PUT replaces the whole resource, so Update adds the
// children in the body of the resource (kind.preserve).
func (a actuator) Update(ctx context.Context, _ Input, r *resource, _ []string) (*resource, error) {
	id, err := a.parse(r.ID)
	if err != nil {
		return r, err
	}
	body, err := a.body()
	if err != nil {
		return r, invalid(err)
	}
	if err := a.awaitDeployment(ctx, id); err != nil {
		return underWay(r), err
	}
	secrets, err := a.open(ctx)
	if err != nil {
		return r, err
	}
	answer, err := a.submit(ctx, id, a.preserve(body, r.Body), secrets, azure.Condition{ETag: r.ETag})
	if err != nil {
		return r, err
	}
	// Not of a PUT that was refused: another one has to follow.
	setStatus(a.object, digest(body, secrets.versions), "sent")
	updated := a.read(r.ID, answer)
	if updated.Body == nil {
		updated.Body = r.Body
	}
	if answer.Operation != nil {
		return underWay(updated), pending(answer)
	}
	if answer.Body == nil {
		return a.get(ctx, id, r.ID)
	}
	return updated, nil
}

// Delete implements external.Actuator. Delete also deletes the deployment that submitted the resource:
// the deployment of an update is left if the operator was killed before the end of the update.
func (a actuator) Delete(ctx context.Context, _ Input, text string) error {
	id, err := a.parse(text)
	if err != nil {
		return err
	}
	if a.isDeployed(id) {
		if err := a.deleteDeployment(ctx, id); err != nil {
			return explain(err)
		}
	}
	answer, err := a.client.Delete(ctx, id, a.APIVersion)
	if err != nil {
		return explain(err)
	}
	if answer.Operation != nil {
		return pending(answer)
	}
	return nil
}

// began reports whether an azure.Operation is on the object's resource, or on the deployment that
// submits the resource.
func (a actuator) began(operation azure.Operation) bool {
	id, err := a.idOf()
	if err != nil {
		return false
	}
	deployment, err := a.deployment(id)
	return operation.ID.Equal(id) || err == nil && operation.ID.Equal(deployment)
}

// Resume implements external.Resumer.
func (a actuator) Resume(ctx context.Context, _ Input, operation string) error {
	begun, err := azure.ParseOperation(operation)
	if err != nil {
		return &external.Error{Class: external.Missing, Message: err.Error()}
	}
	if !a.began(begun) {
		return &external.Error{
			Class: external.Missing, Message: "the operation on " + begun.ID.String() + " is not one for this object",
		}
	}
	answer, err := a.client.Poll(ctx, begun)
	if err != nil {
		if azure.Classify(err).Ended {
			a.endDeployment(ctx, begun)
		}
		return a.told(ctx, explainPoll(err))
	}
	if answer.Operation != nil {
		return pending(answer)
	}
	a.endDeployment(ctx, begun)
	return nil
}
