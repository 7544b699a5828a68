package azure

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// longestBody bounds status.resource, in bytes of JSON.
const longestBody = 128 << 10

// observe writes the resource into status.resource, and returns an Outcome that says whether the
// resource is usable. If a managed object imported the resource as its spec wants the resource,
// observe writes status.sent as after a PUT.
func (k *kind) observe(obj *external.Unstructured, r *resource) reconcile.Outcome {
	setStatus(obj, shown(r.Body), "resource")
	setStatus(obj, k.unknown(r.Body), "unknown")
	isManaged := obj.GetExternalSpec().ManagementPolicy != sharedv1alpha1.PolicyUnmanaged
	if isManaged && sentOf(obj) == "" && len(r.differs()) == 0 {
		body, _ := r.desired.body() // differs reports an error.
		setStatus(obj, digest(body, r.desired.versions), "sent")
	}
	state := short(stateOf(r.Body))
	switch {
	case azure.IsFailed(state) && isManaged:
		return reconcile.Refuse(condition.ReasonUnrecoverableError, "Azure says that the provisioningState is %s", state)
	case azure.IsFailed(state) || !isTerminal(state):
		return reconcile.Progress(condition.ReasonProgressing, "Azure says that the provisioningState is %s", state)
	}
	return reconcile.Outcome{}
}

// mostUnknown and longestUnknown bound status.unknown.
const (
	mostUnknown    = 256
	longestUnknown = 1024
)

// unknown returns the paths of properties that the schema of the api-version does not have, or nil.
// unknown leaves out children that are objects of their own, because each child has a status.
func (k *kind) unknown(body map[string]any) any {
	_, rest, err := k.FromARM(body, catalogue.Conversion{})
	if err != nil {
		return nil
	}
	var paths []any
	for _, one := range rest {
		told := one.Path == catalogue.NamePath || catalogue.IsManaged(one.Path) || k.isPreserved(one.Path)
		if !told && len(one.Path) <= longestUnknown && len(paths) < mostUnknown {
			paths = append(paths, one.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return paths
}

// isPreserved reports whether a path is in Definition.Preserved: the path of children that are
// objects of their own.
func (k *kind) isPreserved(path string) bool {
	return slices.ContainsFunc(k.definition.Preserved, func(p catalogue.Preserved) bool {
		return path == p.Path || strings.HasPrefix(path, p.Path+"/")
	})
}

// longestText bounds each text in the summary that shown returns for a long body, in bytes.
const longestText = 1024

// short returns the first longestText bytes of a text.
func short(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.ToValidUTF8(text[:longestText], "")
}

// shown returns a body for status.resource. Of a body above longestBody, shown returns only the
// provisioningState and the id, name, type, location and etag.
func shown(body map[string]any) map[string]any {
	text, err := json.Marshal(body)
	if err == nil && len(text) <= longestBody {
		return runtime.DeepCopyJSON(body)
	}
	summary := map[string]any{"properties": map[string]any{"provisioningState": short(stateOf(body))}}
	for _, key := range []string{"id", "name", "type", "location", "etag"} {
		if text, ok := body[key].(string); ok {
			summary[key] = short(text)
		}
	}
	return summary
}

// setStatus sets a field of the status; nil removes the field.
func setStatus(obj *external.Unstructured, value any, field string) {
	obj.Object = withField(obj.Object, value, "status", field)
	if value == nil {
		unstructured.RemoveNestedField(obj.Object, "status", field)
	}
}

// withField returns a copy of an object with another value of a field. The copy shares all other
// values with the object.
func withField(obj map[string]any, value any, path ...string) map[string]any {
	changed := maps.Clone(obj)
	if changed == nil {
		changed = map[string]any{}
	}
	if len(path) > 1 {
		inner, _ := obj[path[0]].(map[string]any)
		value = withField(inner, value, path[1:]...)
	}
	changed[path[0]] = value
	return changed
}

// stateOf returns the provisioningState of a resource, or "".
func stateOf(body map[string]any) string { return azure.ProvisioningState(body) }

// isTerminal reports whether a change has ended. Many ARM types have no provisioningState.
func isTerminal(state string) bool {
	return state == "" || strings.EqualFold(state, "Succeeded") || azure.IsFailed(state)
}

// isLeaving reports whether ARM is deleting a resource.
func isLeaving(r *resource) bool {
	state := stateOf(r.Body)
	return strings.EqualFold(state, "Deleting") || strings.EqualFold(state, "Deprovisioning")
}

// underWay returns a resource with a provisioningState that is not terminal: until the operation
// ends, the resource is not usable, although the answer to the PUT may say Succeeded.
func underWay(r *resource) *resource {
	if !isTerminal(stateOf(r.Body)) {
		return r
	}
	changed := *r
	changed.Body = withField(r.Body, "Updating", "properties", "provisioningState")
	return &changed
}
