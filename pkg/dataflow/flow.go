package dataflow

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Flow passes values between objects of one owner.
type Flow struct {
	// Field is the field in which the user wrote the flow, for errors.
	Field string
	Nodes []Node
	// Owner is the object that Condition.ValueFrom reads, such as the ApplicationConfiguration in
	// which a user wrote the flow.
	Owner *unstructured.Unstructured
	// Read returns an object from the cluster, or nil if the object does not exist ([Reader]).
	// [Flow.Run] reads each object once.
	Read func(*unstructured.Unstructured) (*unstructured.Unstructured, error)
	// IsOwn reports whether an object in the cluster belongs to [Flow.Owner]. The author may have
	// no right to read an object of another owner, so for an [Output] such an object does not
	// exist.
	IsOwn func(*unstructured.Unstructured) bool
	// Budget bounds the values and paths that [Flow.Run] sets. A nil Budget has no bound.
	Budget *relation.Budget
}

// Missing is a value that can't be passed yet.
type Missing struct {
	// Reason says why, such as "status.endpoint not found in object".
	Reason string
	// From is the object with the value, and FromField the field. To is the object that gets the
	// value, and ToFields are the fields. FromField and ToFields are empty if From or To is a
	// [Store].
	From, To  *unstructured.Unstructured
	FromField string
	ToFields  []string
}

// Result is the result of [Flow.Run].
type Result struct {
	// Stores are the objects of each [Store] of an [Output], with their content.
	Stores []*unstructured.Unstructured
	// Missing are the values that can't be passed yet.
	Missing []Missing
	// Held are the objects and stores that lack a value. A held object that exists in the cluster
	// keeps its current values.
	Held []object.ID
}

// Reader returns a function for [Flow.Read].
func Reader(
	ctx context.Context, c client.Reader,
) func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return func(of *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(of.GroupVersionKind())
		err := c.Get(ctx, client.ObjectKeyFromObject(of), found)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", of.GetKind(), of.GetName(), err)
		}
		return found, nil
	}
}

// run is one call of [Flow.Run].
type run struct {
	*Flow

	outputs map[string]output
	read    map[object.ID]*unstructured.Unstructured
}

// output is an [Output] with the object that has the value.
type output struct {
	source *unstructured.Unstructured
	Output
}

// Run writes the values of each [Input] into the object of its [Node], and makes the [Store] of
// each [Output]. The error is a [relation.FieldError] if a user must change a field, or else the
// error of [Flow.Read].
func (f *Flow) Run() (Result, error) {
	r := run{f, map[string]output{}, map[object.ID]*unstructured.Unstructured{}}
	if err := r.nameOutputs(); err != nil {
		return Result{}, err
	}
	if err := r.checkOrder(); err != nil {
		return Result{}, err
	}
	var result Result
	for _, n := range f.Nodes {
		missing, err := r.fill(n)
		if err != nil {
			return Result{}, err
		}
		if len(missing) > 0 {
			result.Held = append(result.Held, idOf(n.Object))
			result.Missing = append(result.Missing, missing...)
		}
	}
	stores, missing, err := r.makeStores()
	if err != nil {
		return Result{}, err
	}
	for _, m := range missing {
		result.Held = append(result.Held, idOf(m.To))
	}
	result.Stores, result.Missing = stores, append(result.Missing, missing...)
	return result, nil
}

// nameOutputs fills run.outputs with each [Output], by name.
func (r run) nameOutputs() error {
	for _, n := range r.Nodes {
		for _, o := range n.Outputs {
			if o.Name == "" {
				continue // An output for a store alone.
			}
			if _, twice := r.outputs[o.Name]; twice {
				return relation.Wrong(o.Field+".name", "another output is called %s too", o.Name)
			}
			r.outputs[o.Name] = output{n.Object, o}
		}
	}
	return nil
}

// checkOrder refuses objects that wait for values of each other, or of themselves.
func (r run) checkOrder() error {
	waits := graph.New(object.Compare)
	for _, n := range r.Nodes {
		of, namespace := idOf(n.Object), n.Object.GetNamespace()
		for _, o := range n.Outputs {
			if o.Store != nil {
				waits.AddEdge(idOf(o.Store.in(namespace)), of)
			}
		}
		for _, input := range n.Inputs {
			if input.Store != nil {
				waits.AddEdge(of, idOf(input.Store.in(namespace)))
			}
			if from, known := r.outputs[input.Output]; known {
				waits.AddEdge(of, idOf(from.source))
			}
		}
	}
	if _, err := waits.Order(); err != nil {
		return relation.Wrong(r.Field, "the objects wait for each other's values: %s", err)
	}
	return nil
}

// fill writes the values of Node.Inputs into Node.Object.
func (r run) fill(n Node) (missing []Missing, err error) {
	for _, input := range n.Inputs {
		if input.Store != nil {
			reason, err := r.fillFromStore(n.Object, input)
			if err != nil {
				return nil, err
			}
			if reason != "" {
				from := input.Store.in(n.Object.GetNamespace())
				missing = append(missing, Missing{Reason: reason, From: from, To: n.Object})
			}
			if input.Output == "" {
				continue
			}
		}
		from, known := r.outputs[input.Output]
		if !known {
			return nil, relation.Wrong(input.Field, "there is no output %q", input.Output)
		}
		reason, err := r.pass(from, n.Object, input)
		if err != nil {
			return nil, err
		}
		if reason != "" {
			missing = append(missing, Missing{reason, from.source, n.Object, from.FieldPath, input.ToFieldPaths})
		}
	}
	return missing, nil
}

// pass writes the value of an output into an object. The result reason says why the value can't be
// passed yet.
func (r run) pass(from output, into *unstructured.Unstructured, input Input) (reason string, err error) {
	value, reason, err := r.value(from, input.Field)
	if err != nil || reason != "" {
		return reason, err
	}
	if reason, err = r.sinkReady(into, input); err != nil || reason != "" {
		return reason, err
	}
	for i, text := range input.ToFieldPaths {
		if err := r.write(into, fmt.Sprintf("%s.toFieldPaths[%d]", input.Field, i), text, value); err != nil {
			return "", err
		}
	}
	return "", nil
}

// value returns the value of an output. The result reason says why the value can't be used yet.
func (r run) value(from output, field string) (value any, reason string, err error) {
	source, reason, err := r.live(from.source)
	if source == nil {
		return nil, reason, err
	}
	value, found, err := one(source.Object, from.FieldPath, field)
	if err != nil {
		return nil, "", err
	}
	if !found {
		return nil, from.FieldPath + " not found in object", nil
	}
	if value == "" && len(from.Conditions) == 0 {
		return nil, from.FieldPath + " is empty", nil
	}
	reason, err = r.check(from.Conditions, source.Object, value, field)
	return value, reason, err
}

// sinkReady checks Input.Conditions.
func (r run) sinkReady(into *unstructured.Unstructured, input Input) (reason string, err error) {
	if len(input.Conditions) == 0 {
		return "", nil
	}
	sink, _, err := r.live(into)
	if sink == nil {
		return "", err
	}
	return r.check(input.Conditions, sink.Object, nil, input.Field)
}

// live returns an object of [Flow.Owner] from the cluster, or nil with the reason.
func (r run) live(of *unstructured.Unstructured) (found *unstructured.Unstructured, reason string, err error) {
	found, reason, err = r.any(of)
	if found != nil && !r.IsOwn(found) {
		return nil, doesNotExist(of), nil
	}
	return found, reason, err
}

// any returns an object of any owner from the cluster, or nil with the reason.
func (r run) any(of *unstructured.Unstructured) (found *unstructured.Unstructured, reason string, err error) {
	id := idOf(of)
	found, known := r.read[id]
	if !known {
		if found, err = r.Read(of); err != nil {
			return nil, "", err
		}
		r.read[id] = found
	}
	if found == nil {
		reason = doesNotExist(of)
	}
	return found, reason, nil
}

func doesNotExist(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s does not exist", u.GetKind(), u.GetName())
}

// write writes a value into an object, at a path that a user wrote. If field and value are lists,
// write appends the value. A value of another type than the present value is an error.
func (r run) write(into *unstructured.Unstructured, field, text string, value any) error {
	path, err := parseUnnamed(field, text)
	if err != nil {
		return err
	}
	if present := path.Values(into.Object); len(present) == 1 {
		before := present[0].Value
		have, isList := before.([]any)
		more, listed := value.([]any)
		switch {
		case isList && listed:
			value = slices.Concat(have, more)
		case isList:
			value = append(slices.Clone(have), value)
		case isScalar(before) != isScalar(value) || listed:
			return relation.Wrong(field, "%s is %s, and the value is %s",
				text, relation.TypeOf(before), relation.TypeOf(value))
		}
	}
	content, err := path.SetWithin(into.Object, value, r.Budget)
	if err != nil {
		return relation.Wrong(field, "%s", err)
	}
	into.Object = content
	return nil
}
