package dataflow

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// Operators of a [Condition].
const (
	Equal    = "eq"
	NotEqual = "notEq"
	NotEmpty = "notEmpty"
)

// Condition is a comparison that must hold before [Flow.Run] passes a value.
type Condition struct {
	// Operator is [Equal], [NotEqual] or [NotEmpty].
	Operator string
	// Value is the text to compare with: "1" equals the number 1, and "true" the boolean.
	Value string
	// ValueFrom, if set, is the path of the value to compare with, in [Flow.Owner].
	ValueFrom string
	// FieldPath is the path of the compared value. Empty means the value that is passed.
	FieldPath string
}

// check returns why a [Condition] does not hold, or "". The parameter content is the object of
// Condition.FieldPath, and value the value that is passed.
func (r run) check(conditions []Condition, content map[string]any, value any, field string) (string, error) {
	for i, c := range conditions {
		at := fmt.Sprintf("%s, condition %d", field, i)
		got, want := value, any(c.Value)
		if c.FieldPath != "" {
			var found bool
			var err error
			if got, found, err = one(content, c.FieldPath, at); err != nil {
				return "", err
			} else if !found {
				return c.FieldPath + " not found in object", nil
			}
		}
		if c.ValueFrom != "" {
			var found bool
			var err error
			if want, found, err = one(r.Owner.Object, c.ValueFrom, at); err != nil {
				return "", err
			} else if !found {
				return fmt.Sprintf("%s not found in the %s", c.ValueFrom, r.Owner.GetKind()), nil
			}
		}
		reason, err := c.compare(got, want, at)
		if reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// compare returns why the comparison of got with want does not hold, or "".
func (c Condition) compare(got, want any, field string) (string, error) {
	switch c.Operator {
	case Equal:
		if !equal(got, want) {
			return fmt.Sprintf("got(%s) expected to be %s", shortened(got), shortened(want)), nil
		}
	case NotEqual:
		if equal(got, want) {
			return fmt.Sprintf("got(%s) expected not to be %s", shortened(got), shortened(want)), nil
		}
	case NotEmpty:
		if isEmpty(got) {
			return "value should not be empty", nil
		}
	default:
		return "", relation.Wrong(field, "there is no operator %q: use eq, notEq or notEmpty", c.Operator)
	}
	return "", nil
}

// equal compares a value with another value, or with Condition.Value.
func equal(got, want any) bool {
	if text, ok := want.(string); ok {
		return textOf(got) == text
	}
	return textOf(got) == textOf(want) && reflect.TypeOf(got) == reflect.TypeOf(want) && isScalar(got) ||
		reflect.DeepEqual(got, want)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}

// textOf returns a scalar in the form of Condition.Value.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// maxShown is the number of bytes of a value in a reason.
const maxShown = 256

// shortened returns a value in the form of a reason.
func shortened(v any) string {
	text := textOf(v)
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}
