package emulator

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// template reads the resources of a deployment's template in both languages. The older language has
// a list of resources, whose dependsOn has types and names. languageVersion 2.0 has a map of
// resources, whose dependsOn has keys, and which may contain existing resources. The only evaluated
// expressions are resourceId with literal arguments, and parameters.
func (rq *request) template(properties map[string]any) ([]*step, *refusal) {
	template := mapOf(properties["template"])
	if template == nil {
		return nil, malformed("InvalidRequestContent", "The request content has no template.")
	}
	if mode := textOf(properties["mode"]); !strings.EqualFold(mode, "Incremental") {
		return nil, malformed("InvalidRequestContent", "The deployment mode '%s' is not emulated.", mode)
	}
	if refused := rq.readParameters(template, properties); refused != nil {
		return nil, refused
	}
	var entries []entry
	switch typed := template["resources"].(type) {
	case []any:
		for _, one := range typed {
			entries = append(entries, entry{body: mapOf(one)})
		}
	case map[string]any:
		if textOf(template["languageVersion"]) != "2.0" {
			return nil, malformed("InvalidTemplate", "Named resources need languageVersion 2.0.")
		}
		for _, symbol := range slices.Sorted(maps.Keys(typed)) {
			entries = append(entries, entry{symbol: symbol, body: mapOf(typed[symbol])})
		}
	}
	if len(entries) == 0 {
		return nil, malformed("InvalidTemplate", "The template has no resources.")
	}
	for i := range entries {
		if refused := rq.readEntry(&entries[i]); refused != nil {
			return nil, refused
		}
	}
	return linked(entries)
}

// readParameters reads the parameters of a template, and refuses one without a value, and a value without a parameter.
func (rq *request) readParameters(template, properties map[string]any) *refusal {
	declared, given := mapOf(template["parameters"]), mapOf(properties["parameters"])
	for name := range given {
		if declared[name] == nil {
			return malformed("InvalidTemplate", "Deployment template validation failed: The following parameters were "+
				"supplied, but do not correspond to any parameters defined in the template: '%s'.", name)
		}
	}
	rq.parameters = map[string]any{}
	for name, one := range declared {
		value, ok := mapOf(given[name])["value"]
		if !ok {
			return malformed("InvalidTemplate",
				"Deployment template validation failed: The value for the template parameter '%s' is not provided.", name)
		}
		_, isText := value.(string)
		if kind := textOf(mapOf(one)["type"]); strings.EqualFold(kind, "secureString") != isText {
			return malformed("InvalidTemplate", "Deployment template validation failed: The provided value for the template "+
				"parameter '%s' is not valid. Expected a value of type '%s'.", name, kind)
		}
		rq.parameters[name] = value
	}
	return nil
}

// entry is a resource of a template.
type entry struct {
	// symbol is the key of the resource in languageVersion 2.0.
	symbol string
	body   map[string]any
	needs  []string
	step   *step
}

// readEntry reads a resource of a template.
func (rq *request) readEntry(e *entry) *refusal {
	evaluated, refused := rq.evaluate(runtime.DeepCopyJSONValue(e.body))
	if refused != nil {
		return refused
	}
	e.body = mapOf(evaluated)
	typ, name, version := textOf(e.body["type"]), textOf(e.body["name"]), textOf(e.body["apiVersion"])
	base := rq.id.In()
	if scope := textOf(e.body["scope"]); scope != "" {
		parsed, err := azure.ParseID(scope)
		if err != nil {
			return malformed("InvalidTemplate", "The scope of resource '%s' is wrong: %s.", name, err)
		}
		base = parsed
	}
	id, err := nested(base, typ, name)
	if err != nil {
		return malformed("InvalidTemplate", "The resource '%s' of type '%s' is wrong: %s.", name, typ, err)
	}
	if version == "" {
		return malformed("InvalidTemplate", "The resource '%s' has no apiVersion.", name)
	}
	existing, _ := e.body["existing"].(bool)
	needs, _ := e.body["dependsOn"].([]any)
	for _, need := range needs {
		e.needs = append(e.needs, textOf(need))
	}
	for _, own := range []string{"type", "apiVersion", "dependsOn", "existing", "scope", "condition", "comments", "name"} {
		delete(e.body, own)
	}
	e.step = &step{id: id, version: version, body: e.body, existing: existing}
	if existing {
		return nil
	}
	// The emulator refuses the whole template for a resource with a wrong location or type.
	draft := *rq
	draft.id, draft.body = id, e.body
	kind, _ := rq.types.Type(id.Type())
	if refused := checkKind(rq.types, id, version); refused != nil {
		return refused
	}
	return checkLocation(rq.store.get(id), draft.drafted(kind, rq.store.get(id)))
}

// nested builds the id of a template's resource: type a/b has the name x/y.
func nested(base azure.ID, typ, name string) (azure.ID, error) {
	types, names := strings.Split(typ, "/"), strings.Split(name, "/")
	id, err := base, error(nil)
	for i := range names {
		if i+2 > len(types) || len(names) != len(types)-1 {
			return base.Child(typ, name) // which says what is wrong
		}
		if id, err = id.Child(strings.Join(types[:i+2], "/"), names[i]); err != nil {
			return azure.ID{}, err
		}
	}
	return id, nil
}

// linked resolves dependsOn of all entries, and refuses unknown names and cycles.
func linked(entries []entry) ([]*step, *refusal) {
	steps := make([]*step, 0, len(entries))
	for _, e := range entries {
		for _, need := range e.needs {
			at := slices.IndexFunc(entries, func(other entry) bool { return other.isNamed(need) })
			if at < 0 {
				return nil, malformed("InvalidTemplate", "Deployment template validation failed: The resource '%s' is not defined "+
					"in the template.", need)
			}
			e.step.needs = append(e.step.needs, entries[at].step)
		}
		steps = append(steps, e.step)
	}
	for _, one := range steps {
		if reaches(one, one, map[*step]bool{}) {
			return nil, malformed("InvalidTemplate",
				"Deployment template validation failed: Circular dependency detected on resource: '%s'.", one.id)
		}
	}
	return steps, nil
}

// isNamed reports whether a text in dependsOn names the resource.
func (e entry) isNamed(need string) bool {
	if e.symbol != "" {
		return e.symbol == need
	}
	return strings.EqualFold(need, e.step.id.String()) || strings.EqualFold(need, pathOf(e.step.id)) ||
		strings.EqualFold(need, strings.Join(e.step.id.Names(), "/"))
}

// reaches reports whether a step needs another step, directly or through further steps. The map
// seen has the steps that were visited.
func reaches(from, to *step, seen map[*step]bool) bool {
	for _, need := range from.needs {
		if need == to {
			return true
		}
		if !seen[need] {
			seen[need] = true
			if reaches(need, to, seen) {
				return true
			}
		}
	}
	return false
}

var (
	resourceID = regexp.MustCompile(`^\[resourceId\((.*)\)\]$`)
	parameter  = regexp.MustCompile(`^\[parameters\('([^']*)'\)\]$`)
	literal    = regexp.MustCompile(`^'([^']*)'$`)
)

// evaluate evaluates the expressions in a value.
func (rq *request) evaluate(value any) (any, *refusal) {
	switch typed := value.(type) {
	case map[string]any:
		for key, inner := range typed {
			evaluated, refused := rq.evaluate(inner)
			if refused != nil {
				return nil, refused
			}
			typed[key] = evaluated
		}
	case []any:
		for i, inner := range typed {
			evaluated, refused := rq.evaluate(inner)
			if refused != nil {
				return nil, refused
			}
			typed[i] = evaluated
		}
	case string:
		return rq.evaluateText(typed)
	}
	return value, nil
}

func (rq *request) evaluateText(text string) (any, *refusal) {
	if rest, escaped := strings.CutPrefix(text, "[["); escaped {
		return "[" + rest, nil
	}
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		return text, nil
	}
	if named := parameter.FindStringSubmatch(text); named != nil {
		if value, ok := rq.parameters[named[1]]; ok {
			return value, nil
		}
		return nil, malformed("InvalidTemplate",
			"The template parameter '%s' is not found.", named[1])
	}
	unknown := malformed("InvalidTemplate",
		"The expression '%s' is not emulated: only resourceId with literal arguments and parameters are.", text)
	call := resourceID.FindStringSubmatch(text)
	if call == nil {
		return nil, unknown
	}
	var args []string
	for arg := range strings.SplitSeq(call[1], ",") {
		match := literal.FindStringSubmatch(strings.TrimSpace(arg))
		if match == nil {
			return nil, unknown
		}
		args = append(args, match[1])
	}
	typ := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "/") })
	if typ < 0 {
		return nil, unknown
	}
	id, err := nested(rq.id.In(), args[typ], strings.Join(args[typ+1:], "/"))
	if err != nil {
		return nil, malformed("InvalidTemplate", "The expression '%s' is wrong: %s.", text, err)
	}
	return id.String(), nil
}
