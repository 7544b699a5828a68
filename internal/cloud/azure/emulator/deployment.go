package emulator

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

const deploymentType = "Microsoft.Resources/deployments"

// deploymentFlow is the [Flow] of a deployment without its resources.
var deploymentFlow = Flow{
	Style: Async, State: "Accepted", Takes: short, PollAfter: 5, Operation: "{id}/operationStatuses/{operation}",
}

// deployment is a template deployment that puts the resources in the order of their dependsOn.
type deployment struct {
	// request has the id and the address of the deployment; each step copies request.
	request *request
	op      *operation
	steps   []*step
	runs    time.Time // the first steps begin
	failure *refusal
}

// step is a resource of a template.
type step struct {
	id      azure.ID
	version string
	body    map[string]any
	// existing resources must exist: the deployment sends no PUT.
	existing bool
	needs    []*step
	begun    bool
	done     bool
	ended    time.Time
	op       *operation
}

// deploy answers the PUT of a deployment.
func (rq *request) deploy() reply {
	kind, _ := rq.types.Type(deploymentType)
	old := rq.store.get(rq.id)
	next := rq.drafted(kind, old)
	next.refs = nil // The resources of the template are put in their turn.
	if refused := rq.missingOwner(rq.id, "write"); refused != nil {
		return refused.reply()
	}
	if refused := rq.checkBusy(old, next); refused != nil {
		refused.code = "DeploymentActive"
		return refused.reply()
	}
	properties := mapOf(anyCase(rq.body, "properties"))
	steps, refused := rq.template(properties)
	if refused != nil {
		return refused.reply()
	}
	next.kind, next.state = kind, "Accepted"
	next.kind.Defaults, next.kind.Delete = nil, Flow{
		Style: LocationOnly, State: "Deleting", Takes: short, RetryAfter: 15, PollAfter: 15,
		Result: "{root}/operationresults/{operation}",
	}
	next.body = map[string]any{"properties": map[string]any{
		"templateHash": hashOf(properties["template"]), "mode": "Incremental", "timestamp": stamp(rq.now),
		"duration": "PT0S", "correlationId": uuid.NewString(), "providers": providersOf(steps), "dependencies": []any{},
	}}
	if level := textOf(mapOf(properties["debugSetting"])["detailLevel"]); level != "" {
		mapOf(next.body["properties"])["debugSetting"] = map[string]any{"detailLevel": upperWords(level)}
	}
	if old == nil {
		next.created = rq.now
		rq.store.add(next)
	} else {
		*old = *next
		next = old
	}
	return rq.accepted(rq.startDeployment(next, steps), next, false)
}

// startDeployment begins the operation of a deployment, which ends with its last resource.
func (rq *request) startDeployment(r *resource, steps []*step) *operation {
	takes := rq.takes(deploymentFlow)
	own := *rq
	d := &deployment{request: &own, steps: steps, runs: rq.now.Add(takes / 2), op: &operation{
		method: http.MethodPut, version: rq.version, id: rq.id, flow: deploymentFlow, ends: rq.now.Add(takes),
		status: rq.address(r, deploymentFlow.Operation), failure: rq.fail,
	}}
	rq.fail, own.fail = nil, nil
	rq.operations[operationKey(d.op.status)] = d.op
	r.running = d.op
	rq.deployments = append(rq.deployments, d)
	if takes == 0 {
		rq.endDue(rq.now)
	}
	return d.op
}

// advance begins the steps that are due, and reports whether a step or the state changed. A step
// after an operation begins at the end of that operation, which may be earlier than the request
// that calls advance.
func (d *deployment) advance(s *Server, now time.Time) bool {
	r := s.store.get(d.op.id)
	if r == nil || r.running != d.op || now.Before(d.runs) {
		return false
	}
	changed := r.state == "Accepted"
	r.state = "Running"
	open := 0
	for _, one := range d.steps {
		if !one.done {
			changed = d.work(s, one, now) || changed
		}
		if !one.done && (one.begun || d.failure == nil) {
			open++
		}
	}
	if open > 0 || now.Before(d.op.ends) {
		return changed
	}
	if d.failure != nil {
		d.op.failure = &refusal{
			status: http.StatusConflict, code: "DeploymentFailed", message: "At least one resource deployment operation failed.",
			details: []any{map[string]any{"code": d.failure.code, "message": d.failure.message}},
		}
		mapOf(r.body["properties"])["error"] = d.op.failure.body()["error"]
	} else {
		mapOf(r.body["properties"])["outputResources"] = d.outputs()
	}
	d.op.end(s)
	return true
}

// work begins or ends a step that is due, and reports whether it did.
func (d *deployment) work(s *Server, one *step, now time.Time) bool {
	at := d.runs
	for _, need := range one.needs {
		if !need.done {
			return false
		}
		if need.ended.After(at) {
			at = need.ended
		}
	}
	switch {
	case one.begun && one.op != nil && !one.op.done:
		return false
	case one.begun:
		one.done = true
		if one.op != nil {
			one.ended = one.op.ends
			d.fail(one.op.failure)
		}
		return true
	case d.failure != nil:
		return false
	}
	if at.After(now) {
		at = now
	}
	one.begun, one.ended = true, at // An existing resource takes no time.
	d.put(s, one, at)
	return true
}

// put sends the PUT of a step.
func (d *deployment) put(s *Server, one *step, at time.Time) {
	rq := *d.request
	rq.Server, rq.id, rq.version, rq.body, rq.header, rq.now = s, one.id, one.version, one.body, http.Header{}, at
	rq.method = http.MethodPut
	if one.existing {
		if s.store.get(one.id) == nil && !isPlace(one.id) {
			d.fail(rq.absent("read"))
		}
		return
	}
	refused := rq.check()
	if refused == nil {
		answer := rq.put()
		s.countRefusal(Call{rq.method, one.id.Type()}, one.id, answer)
		refused = answer.refusal
	}
	if d.fail(refused); refused == nil {
		one.op = s.store.get(one.id).running
	}
}

// fail records the first refusal of a resource.
func (d *deployment) fail(refused *refusal) {
	if d.failure == nil {
		d.failure = refused
	}
}

// outputs returns the ids of the resources that the deployment has put.
func (d *deployment) outputs() []any {
	all := []any{}
	for _, one := range d.steps {
		if !one.existing {
			all = append(all, map[string]any{"id": one.id.String()})
		}
	}
	return all
}

// upperWords returns a list of words as ARM writes the list: "requestContent,none" is
// "RequestContent, None".
func upperWords(text string) string {
	words := strings.Split(text, ",")
	for i, word := range words {
		if word = strings.TrimSpace(word); word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, ", ")
}

// providersOf returns the types of a template in the form of properties.providers.
func providersOf(steps []*step) []any {
	all := make([]any, 0, len(steps))
	for _, one := range steps {
		_, types, _ := strings.Cut(one.id.Type(), "/")
		location := []any{nil}
		if text := textOf(one.body["location"]); text != "" {
			location = []any{normalize(text)}
		}
		all = append(all, map[string]any{"namespace": one.id.Provider(), "resourceTypes": []any{
			map[string]any{"resourceType": types, "locations": location},
		}})
	}
	return all
}

// hashOf returns a number that is the same for equal templates.
func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "0"
	}
	hash := fnv.New64a()
	_, _ = hash.Write(text) // A hash takes everything.
	return fmt.Sprint(hash.Sum64())
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000Z") }

// anyCase returns the value of a key in any case: templates of some clients have "Properties".
func anyCase(from map[string]any, key string) any {
	for name, value := range from {
		if strings.EqualFold(name, key) {
			return value
		}
	}
	return nil
}
