// Package gitops evaluates health checks as Argo CD and Flux do.
package gitops

import (
	"fmt"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// ArgoCD returns the status and the message of a health check for an object. A health check of Argo CD is a
// script in Lua. A script that fails, or that returns no table, fails the test.
func ArgoCD(tb testing.TB, script string, object map[string]any) (status, message string) {
	tb.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		tb.Fatalf("run the health check: %v", err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		tb.Fatalf("the health check returns a %s", state.Get(-1).Type())
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for name, field := range v {
			table.RawSetString(name, toLua(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(toLua(state, item))
		}
		return table
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	case nil:
		return lua.LNil
	}
	return lua.LString(fmt.Sprint(value))
}
