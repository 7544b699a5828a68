package azure

import (
	"context"
	"net/http"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// Submission is the way in which actuator.submit sends the body of a resource.
type Submission string

const (
	// ByPut sends a PUT for the ARM id of a resource.
	ByPut Submission = "put"
	// ByDeployment sends a template deployment with one resource. Only resources in a resource
	// group are sent ByDeployment.
	ByDeployment Submission = "deployment"
)

const (
	deploymentType    = "Microsoft.Resources/deployments"
	deploymentVersion = "2021-04-01"
)

// submit sends the body of a resource with the values of secrets. The error of submit has no such value.
func (a actuator) submit(
	ctx context.Context, id azure.ID, body map[string]any, secrets opened, only azure.Condition,
) (azure.Answer, error) {
	send, wrap := a.deploy, func(value any) any { return azure.Secure{Value: value} }
	if !a.isDeployed(id) {
		send, wrap = a.put, func(value any) any { return value }
	}
	revealed, err := secrets.reveal(body, wrap)
	if err != nil {
		return azure.Answer{}, err
	}
	answer, err := send(ctx, id, revealed, only)
	if err != nil {
		return azure.Answer{}, secrets.withhold(err)
	}
	return answer, nil
}

func (a actuator) put(
	ctx context.Context, id azure.ID, body map[string]any, only azure.Condition,
) (azure.Answer, error) {
	answer, err := a.client.Put(ctx, id, a.APIVersion, body, only)
	if err != nil {
		return azure.Answer{}, explain(err)
	}
	return answer, nil
}

// deploy sends the body in a template deployment. ARM keeps the template, so secrets are secure parameters, which ARM
// does not return.
func (a actuator) deploy(
	ctx context.Context, id azure.ID, body map[string]any, _ azure.Condition,
) (azure.Answer, error) {
	deployment, err := a.deployment(id)
	if err != nil {
		return azure.Answer{}, invalid(err)
	}
	ownerVersion := a.APIVersion
	if known := a.all.Default(id.Parent().Type()); known != nil {
		ownerVersion = known.APIVersion
	}
	template, parameters, err := azure.Template(id, a.Type, a.APIVersion, body, ownerVersion)
	if err != nil {
		return azure.Answer{}, invalid(err)
	}
	properties := map[string]any{"mode": "Incremental", "template": template}
	if len(parameters) > 0 {
		properties["parameters"] = parameters
	}
	answer, err := a.client.Put(ctx, deployment, deploymentVersion, map[string]any{"properties": properties},
		azure.Condition{})
	if err != nil {
		return azure.Answer{}, explain(err)
	}
	answer.Body, answer.ETag = nil, "" // Those of the deployment.
	return answer, nil
}

// awaitDeployment returns an external.Error of class external.Pending while the deployment of an earlier
// request for the object runs, or is being deleted: ARM would refuse another one. For example, the operator
// was killed in the middle of an update.
func (a actuator) awaitDeployment(ctx context.Context, id azure.ID) error {
	if !a.isDeployed(id) || sentOf(a.object) == "" {
		return nil
	}
	deployment, err := a.deployment(id)
	if err != nil {
		return invalid(err)
	}
	answer, err := a.client.Poll(ctx, azure.Operation{
		Style: azure.OfResource, Method: http.MethodPut, ID: deployment, Version: deploymentVersion,
	})
	switch {
	case err == nil && answer.Operation != nil:
		return pending(answer)
	case err == nil || azure.IsMissing(err) || azure.Classify(err).Ended:
		return nil
	default:
		return explainPoll(err)
	}
}

// isDeployed reports whether the resource with an ARM id is sent [ByDeployment].
func (k *kind) isDeployed(id azure.ID) bool {
	return k.submission == ByDeployment && strings.EqualFold(id.In().Type(), catalogue.ResourceGroupType)
}

// deployment returns the ARM id of the deployment that submits the resource with an ARM id.
func (d *desired) deployment(id azure.ID) (azure.ID, error) {
	return id.In().Child(deploymentType, "kinship-"+string(d.object.GetUID()))
}

// endDeployment deletes a deployment that has ended, because a resource group can have only 800
// deployments. The resources of the deployment are kept. endDeployment ignores an error, because the
// resource is there: actuator.Delete deletes the deployment later, or Azure does with the resource group.
func (a actuator) endDeployment(ctx context.Context, ended azure.Operation) {
	if strings.EqualFold(ended.ID.Type(), deploymentType) {
		_, _ = a.client.Delete(ctx, ended.ID, deploymentVersion)
	}
}

// deleteDeployment deletes the deployment that submitted the resource of an object, if the deployment
// exists.
func (a actuator) deleteDeployment(ctx context.Context, id azure.ID) error {
	deployment, err := a.deployment(id)
	if err != nil {
		return err
	}
	if _, err = a.client.Delete(ctx, deployment, deploymentVersion); azure.IsMissing(err) {
		return nil
	}
	return err
}
