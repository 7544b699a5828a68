package azure_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
)

// object is the Go type of the objects of the test.
type object = *external.Unstructured

// actuator is how a pack puts a Client behind package external. The object's name is the id.
type actuator struct{ client *azure.Client }

var (
	_ external.Actuator[object, azure.Answer] = actuator{}
	_ external.Resumer[object]                = actuator{}
)

// tokenSize is how long an operation may be that an object records.
const tokenSize = 4096

// Get implements external.Actuator.
func (a actuator) Get(ctx context.Context, _ external.Input[object], id string) (azure.Answer, error) {
	parsed, err := azure.ParseID(id)
	if err != nil {
		return azure.Answer{}, err
	}
	answer, err := a.client.Get(ctx, parsed, version)
	return answer, understood(err, false)
}

// Find implements external.Actuator: a client that chooses the ids has nothing to find.
func (actuator) Find(context.Context, external.Input[object], external.Search) ([]azure.Answer, error) {
	return nil, nil
}

// Create implements external.Actuator.
func (a actuator) Create(ctx context.Context, in external.Input[object]) (azure.Answer, error) {
	parsed, err := azure.ParseID(in.Object.GetName())
	if err != nil {
		return azure.Answer{}, err
	}
	answer, err := a.client.Put(ctx, parsed, version, map[string]any{"location": "westus2"}, azure.Condition{})
	if err != nil {
		return azure.Answer{}, understood(err, false)
	}
	return answer, pending(answer)
}

// Update implements external.Actuator.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], _ azure.Answer, _ []string,
) (azure.Answer, error) {
	return a.Create(ctx, in)
}

// Delete implements external.Actuator.
func (a actuator) Delete(ctx context.Context, _ external.Input[object], id string) error {
	parsed, err := azure.ParseID(id)
	if err != nil {
		return err
	}
	answer, err := a.client.Delete(ctx, parsed, version)
	if err != nil {
		return understood(err, false)
	}
	return pending(answer)
}

// Resume implements external.Resumer.
func (a actuator) Resume(ctx context.Context, _ external.Input[object], operation string) error {
	parsed, err := azure.ParseOperation(operation)
	if err != nil {
		return &external.Error{Class: external.Missing, Message: err.Error()}
	}
	answer, err := a.client.Poll(ctx, parsed)
	if err != nil {
		return understood(err, true)
	}
	return pending(answer)
}

// pending is the error of a request that an operation carries out, or nil.
func pending(answer azure.Answer) error {
	if answer.Operation == nil {
		return nil
	}
	text, err := answer.Operation.Token(tokenSize)
	if err != nil {
		return err
	}
	return &external.Error{Class: external.Pending, After: answer.After, Operation: text, Message: "ARM is at work"}
}

// understood returns an error of a Client as package external has it. The failure of a poll, unlike that of the
// operation, is Transient: the operation may still run.
func understood(err error, poll bool) error {
	if err == nil {
		return nil
	}
	f := azure.Classify(err)
	class := map[azure.Class]external.Class{
		azure.RetrySoon: external.Refused, azure.RetrySlowly: external.Refused, azure.AwaitReference: external.Refused,
		azure.Final: external.Invalid, azure.Missing: external.Missing, azure.InUse: external.Busy,
	}[f.Class]
	unknown := f.Status == 0 || f.Status >= 500 // The request may have been carried out.
	if class != external.Missing && !f.Ended && (poll || unknown) {
		class = external.Transient
	}
	return &external.Error{Class: class, After: f.After, Late: f.Late, Outage: f.Outage, Message: f.Message}
}

// TestBehindPackageExternal leads a resource through its life by the interfaces of package external.
func TestBehindPackageExternal(t *testing.T) {
	w := newWorld(t)
	w.ready(group)
	a, ctx := actuator{w.client}, context.Background()
	in := external.Input[object]{Object: external.NewUnstructured(schema.GroupVersionKind{Kind: "Thing"})}
	in.Object.SetName(network)
	expect := func(what string, err error, class external.Class) (operation string) {
		t.Helper()
		known, ok := errors.AsType[*external.Error](err)
		if !ok || known.Class != class {
			t.Fatalf("%s: %v", what, err)
		}
		return known.Operation
	}
	_, err := a.Get(ctx, in, network)
	expect("before", err, external.Missing)
	_, err = a.Create(ctx, in)
	operation := expect("Create", err, external.Pending)
	w.restart()
	a.client = w.client
	expect("Resume", a.Resume(ctx, in, operation), external.Pending)
	w.settle()
	if err := a.Resume(ctx, in, operation); err != nil {
		t.Errorf("Resume at the end: %v", err)
	}
	answer, err := a.Get(ctx, in, network)
	if err != nil || azure.ProvisioningState(answer.Body) != "Succeeded" {
		t.Errorf("Get: %v, %v", answer, err)
	}
	if _, err = a.Update(ctx, in, answer, nil); err != nil {
		t.Errorf("Update: %v", err)
	}
	expect("Delete", a.Delete(ctx, in, network), external.Pending)
	w.settle()
	_, err = a.Get(ctx, in, network)
	expect("after", err, external.Missing)
}
