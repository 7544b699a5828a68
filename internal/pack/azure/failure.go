package azure

import (
	"regexp"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
)

const (
	// slowly is the pause after errors that only a person outside of the object ends.
	slowly = time.Minute
	// ownerPause is the pause before another look for an owner outside of Kubernetes.
	ownerPause = 15 * time.Second
	// longestToken bounds the operation that an object records.
	longestToken = 4000
)

// reason is the form of a reason of a condition.
var reason = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)

// pending says that ARM goes on with a request.
func pending(answer azure.Answer) error {
	e := &external.Error{Class: external.Pending, After: answer.After, Message: "Azure goes on with the request"}
	token, err := answer.Operation.Token(longestToken)
	if err != nil { // The resource itself tells its state.
		return e
	}
	e.Operation = token
	return e
}

// explain converts an error of the client to an external.Error.
func explain(err error) error {
	f := azure.Classify(err)
	e := &external.Error{After: f.After, Late: f.Late, Outage: f.Outage, Message: f.Message}
	if reason.MatchString(f.Code) {
		e.Reason = f.Code
	}
	switch f.Class {
	case azure.Missing:
		e.Class = external.Missing
	case azure.Final:
		e.Class = external.Invalid
	case azure.InUse:
		e.Class = external.Busy
	case azure.AwaitReference:
		e.Class, e.Reason = external.Refused, condition.ReasonWaitingForReference
	case azure.RetrySlowly:
		e.Class, e.After = external.Refused, max(f.After, slowly)
	case azure.RetrySoon:
		if f.Ended || (f.Status != 0 && f.Status < 500) {
			e.Class = external.Refused
		}
	}
	return e
}

// explainPoll is explain for the error of a poll. Unless the operation has ended, it may run on.
func explainPoll(err error) error {
	f := azure.Classify(err)
	if f.Ended || f.Class == azure.Missing {
		return explain(err)
	}
	return &external.Error{Class: external.Transient, After: f.After, Late: f.Late, Outage: f.Outage, Message: f.Message}
}
