package gitops

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// Flux evaluates a CEL expression as Flux does: parsed and not checked, with the fields of an object as
// variables. After an error, Flux evaluates the expression again later.
func Flux(tb testing.TB, expression string, variables map[string]any) (bool, error) {
	tb.Helper()
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings())
	if err != nil {
		tb.Fatal(err)
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		tb.Fatalf("%s: %v", expression, issues.Err())
	}
	program, err := env.Program(parsed)
	if err != nil {
		tb.Fatalf("%s: %v", expression, err)
	}
	value, _, err := program.Eval(variables)
	if err != nil {
		return false, err
	}
	is, ok := value.Value().(bool)
	if !ok {
		tb.Fatalf("%s is %v", expression, value)
	}
	return is, nil
}
