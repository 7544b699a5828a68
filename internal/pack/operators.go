package pack

import (
	"slices"
	"strings"
)

// Operators are the user names of the operator: one for the whole process, and one for each
// pack. Policies, webhooks and handlers that exempt the operator's own requests ask for this
// set.
type Operators []string

// Has reports whether a user is the operator.
func (o Operators) Has(user string) bool { return slices.Contains(o, user) }

// asks returns the condition in CEL that a request is the operator's own.
func (o Operators) asks() string {
	return "request.userInfo.username in ['" + strings.Join(o, "', '") + "']"
}

// DoNotAsk returns the CEL condition that a request does not come from the operator.
func (o Operators) DoNotAsk() string { return "!(" + o.asks() + ")" }
