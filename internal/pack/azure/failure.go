package azure

import (
	"regexp"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
)

const (
	// slowly is the pause after an error that ends only by an action outside of the object, such as
	// a larger quota.
	slowly = time.Minute
	// ownerPause is the pause until the next lookUpOwner.
	ownerPause = 15 * time.Second
	// deploymentActive is the code with which ARM refuses a deployment while another one of the name runs.
	deploymentActive = "DeploymentActive"
	// longestToken bounds the Operation.Token that an object records.
	longestToken = 4000
)

// reason is the form of Condition.reason.
var reason = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)

// invalid returns an external.Error of class external.Invalid: the user has to change the spec first.
func invalid(err error) error { return &external.Error{Class: external.Invalid, Message: err.Error()} }

// pending returns an external.Error that says that ARM has not finished a request.
func pending(answer azure.Answer) error {
	e := &external.Error{Class: external.Pending, After: answer.After, Message: "Azure goes on with the request"}
	token, err := answer.Operation.Token(longestToken)
	if err != nil { // The resource itself tells its state.
		return e
	}
	e.Operation = token
	return e
}

// explain converts an error of azure.Client to an external.Error.
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
		if f.Code == deploymentActive {
			break // The deployment of an earlier request for the object runs, and may create the resource.
		}
		if f.Ended || (f.Status != 0 && f.Status < 500) {
			e.Class = external.Refused
		}
	}
	return e
}

// explainPoll is explain for the error of a Poll. The error of a Poll does not end the operation
// unless azure.Classify says Ended or Missing.
func explainPoll(err error) error {
	f := azure.Classify(err)
	if f.Ended || f.Class == azure.Missing {
		return explain(err)
	}
	return &external.Error{Class: external.Transient, After: f.After, Late: f.Late, Outage: f.Outage, Message: f.Message}
}
