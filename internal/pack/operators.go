package pack

import (
	"slices"
	"strings"
)

// Operators are user names of the operator, which has one for the whole process and one for each pack.
// A policy, a webhook or a handler that exempts the operator's own requests exempts the account of its pack alone.
type Operators []string

// Has reports whether a user is the operator.
func (o Operators) Has(user string) bool { return slices.Contains(o, user) }

// asks returns the condition in CEL that a request is the operator's own.
func (o Operators) asks() string {
	return "request.userInfo.username in ['" + strings.Join(o, "', '") + "']"
}

// DoNotAsk returns the CEL condition that a request does not come from the operator.
func (o Operators) DoNotAsk() string { return "!(" + o.asks() + ")" }
