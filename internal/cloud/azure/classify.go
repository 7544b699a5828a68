package azure

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Class is the meaning of an error for a reconciler.
type Class int

const (
	// RetrySoon errors pass by themselves within seconds or minutes: no answer, 429, 5xx, another
	// operation on the same resource. An unknown error without an answer is RetrySoon.
	RetrySoon Class = iota
	// RetrySlowly errors pass after an action outside of the object, by an administrator: rights,
	// quotas, policies, locks. An unknown refusal is RetrySlowly: an operator that stops to retry
	// leaves an object stuck.
	RetrySlowly
	// AwaitReference errors pass when a resource that the request names exists or is provisioned:
	// the owner, the resource group or a referenced resource.
	AwaitReference
	// Final errors pass only with another request. A DELETE has no Final errors.
	Final
	// Missing says that the resource, or the polled operation, does not exist.
	Missing
	// InUse says that ARM refused a DELETE because another resource uses the resource or is in it.
	InUse
)

// String returns the name of the [Class] for logs and metrics.
func (c Class) String() string {
	return [...]string{"retry-soon", "retry-slowly", "await-reference", "final", "missing", "in-use"}[c]
}

// Failure is the result of [Classify].
type Failure struct {
	Class Class
	// Status is the HTTP status, or 0 without an answer.
	Status int
	// Code is ARM's code of the error, or the code of the detail that decided the [Class].
	Code string
	// Message is a text for a condition, at most 1024 characters.
	Message string
	// After is the pause in Retry-After; zero without Retry-After.
	After time.Duration
	// Late says that the client or a proxy did not wait for the answer: ARM may have carried out
	// the request.
	Late bool
	// Outage says that ARM itself fails: no answer in time, 5xx, or 429 for all calls of a caller.
	Outage bool
	// Ended says that an operation failed. Without Ended, the error of a Poll is an error of the
	// Poll alone.
	Ended bool
}

// Classify returns the meaning of an error of a [Client]. The error MUST NOT be nil.
func Classify(err error) Failure {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return withoutAnswer(err)
	}
	class, code := e.classify()
	return Failure{
		Class: class, Status: e.Status, Code: code, Message: cut(e.Error()), After: e.After, Ended: e.Ended,
		Late:   e.Status == http.StatusGatewayTimeout,
		Outage: class == RetrySoon && !e.Ended && (e.Status >= http.StatusInternalServerError || throttled(e)),
	}
}

// throttled reports whether ARM refuses all calls of the caller for a while. A 429 with the code
// RetryableError is about one resource.
func throttled(e *Error) bool {
	return e.Status == http.StatusTooManyRequests && e.Code != "RetryableError"
}

// IsMissing reports whether an error says that a resource does not exist.
func IsMissing(err error) bool { return err != nil && Classify(err).Class == Missing }

// withoutAnswer classifies errors of requests that were not sent, or not answered.
func withoutAnswer(err error) Failure {
	f := Failure{Class: RetrySoon, Message: cut(steady(err.Error())), Outage: !errors.Is(err, context.Canceled)}
	_, host := errors.AsType[*HostError](err)
	_, much := errors.AsType[*TooMuchError](err)
	timeout, ok := errors.AsType[net.Error](err)
	f.Late = errors.Is(err, context.DeadlineExceeded) || (ok && timeout.Timeout())
	if isLogin(err) {
		f.Class, f.Outage, f.Code = RetrySlowly, false, "AuthenticationFailed"
	}
	if host || much {
		f.Class, f.Outage = RetrySlowly, false
	}
	return f
}

// classify returns the [Class] of a refusal, and the code that decided. The code of a detail
// overrides Error.Code: RetryableError with the detail ReferencedResourceNotProvisioned waits for a
// reference.
func (e *Error) classify() (Class, string) {
	for _, code := range e.Details {
		if class, ok := codes[code]; ok {
			return forMethod(e.Method, class), code
		}
	}
	return forMethod(e.Method, e.classifyCode()), e.Code
}

// forMethod restricts a [Class] to the classes of a method. A DELETE has no content to correct and
// no reference to wait for, so a DELETE is never Final or AwaitReference. A PUT is never InUse.
func forMethod(method string, class Class) Class {
	switch {
	case method == http.MethodDelete && class == Final, method != http.MethodDelete && class == InUse:
		return RetrySlowly
	case method == http.MethodDelete && class == AwaitReference:
		return RetrySoon
	}
	return class
}

// classifyCode classifies by Error.Code, then by Error.Status.
func (e *Error) classifyCode() Class {
	if e.Status == http.StatusNotFound {
		return e.classifyNotFound()
	}
	if class, ok := codes[e.Code]; ok {
		return class
	}
	switch {
	case e.Status == http.StatusGone:
		return Missing
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusTooManyRequests,
		e.Status == http.StatusPreconditionFailed, e.Status >= http.StatusInternalServerError:
		return RetrySoon
	case e.Status == http.StatusRequestEntityTooLarge:
		return Final
	case e.Method == http.MethodDelete && isInUse(e.Code):
		return InUse
	case e.Method != http.MethodDelete && isAboutReference(e.Code):
		return AwaitReference
	case e.Status == http.StatusConflict && !isTaken(e.Code):
		return RetrySoon
	}
	return RetrySlowly
}

// classifyNotFound decides which resource a 404 is about. A 404 for a type or a subscription that
// ARM does not know says nothing about the resource, and neither does the 404 of a proxy.
func (e *Error) classifyNotFound() Class {
	switch {
	case e.Foreign, e.Gateway && e.Code == "SubscriptionNotFound":
		return RetrySlowly
	case e.Code == "InvalidResourceType", e.Code == "InvalidResourceNamespace":
		return Final
	case e.Method == http.MethodPut:
		return AwaitReference
	}
	return Missing
}

// isInUse reports whether a code says that a resource is in use: InUseSubnetCannotBeDeleted,
// NicInUse.
func isInUse(code string) bool {
	return strings.Contains(code, "InUse") || strings.HasSuffix(code, "CannotBeDeleted")
}

// isAboutReference reports whether a code says that a named resource is missing or not provisioned.
func isAboutReference(code string) bool {
	return strings.HasSuffix(code, "NotFound") || strings.Contains(code, "NotFoundFor") ||
		strings.HasSuffix(code, "ProvisioningStateNotSucceeded") || strings.HasSuffix(code, "NotProvisioned")
}

// isTaken reports whether a code says that another resource has the name, such as
// StorageAccountAlreadyTaken.
func isTaken(code string) bool {
	return slices.ContainsFunc([]string{"AlreadyTaken", "AlreadyExists", "AlreadyInUse"}, func(end string) bool {
		return strings.HasSuffix(code, end)
	})
}

// notDeleted is the code of a deletion that ended although the resource still exists.
const notDeleted = "NotDeleted"

// codes are the classes of codes whose HTTP status or name says too little or is misleading.
var codes = classes(map[Class][]string{
	RetrySoon: {
		"AnotherOperationInProgress", "Conflict", "ConflictingServerOperation", "FailedIdentityOperation",
		"InternalServerError", notDeleted, "OperationCancelled", "OperationPreempted", "PrincipalNotFound", "RetryableError",
		"RetryableErrorDueToAnotherOperation", "ServerIsBusy", "ServerTimeout", "ServiceUnavailable",
		"SubscriptionRequestsThrottled", "TooManyRequests", "VmssGatewayDeploymentFailed",
	},
	RetrySlowly: {
		"AllocationFailed", "AuthorizationFailed", "InvalidResourceGroupLocation", "LinkedAuthorizationFailed",
		"MissingSubscriptionRegistration", "NoRegisteredProviderFound", "OperationNotAllowed",
		"OverconstrainedAllocationRequest", "PlatformImageNotFound", "QuotaExceeded", "ReadOnlyDisabledSubscription",
		"RegionIsOfferRestricted", "RequestDisallowedByPolicy", "ReservedResourceName", "ResourceQuotaExceeded",
		"ScopeLocked", "SkuNotAvailable", "SubscriptionNotFound", "SubscriptionNotRegistered", "ZonalAllocationFailed",
	},
	AwaitReference: {
		"InvalidResourceReference", "NotFound", "ParentResourceNotFound", "ReferencedResourceNotProvisioned",
		"ResourceGroupBeingDeleted", "ResourceGroupNotFound", "ResourceNotFound",
	},
	Final: {
		"AccountNameInvalid", "InvalidApiVersionParameter", "InvalidPrincipalId", "InvalidRequestContent",
		"InvalidResourceLocation", "InvalidResourceName", "InvalidResourceNamespace", "InvalidResourceType",
		"InvalidTemplate", "InvalidValuesForRequestParameters", "K8sVersionNotSupported",
		"LocationNotAvailableForResourceGroup", "LocationNotAvailableForResourceType", "LocationRequired",
		"MissingApiVersionParameter", "MissingRequiredParameter", "PasswordTooLong", "PropertyChangeNotAllowed",
		"RequestContentTooLarge",
	},
	InUse: {"CannotDeleteResource", "ResourceGroupDeletionBlocked"},
})

func classes(lists map[Class][]string) map[string]Class {
	all := map[string]Class{}
	for class, list := range lists {
		for _, code := range list {
			all[code] = class
		}
	}
	return all
}
