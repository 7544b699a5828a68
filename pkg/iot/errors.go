package iot

import (
	"errors"
	"fmt"
)

// Errors of a [Provider], for errors.Is.
var (
	// ErrNotFound means that the IotConnector, or the entry in spec.deployments, does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflictExhausted means that other programs updated the IotConnector again and again
	// until Provider.Deadline.
	ErrConflictExhausted = errors.New("others kept changing it")
	// ErrInvalid means that a request can never succeed without a change by a person.
	ErrInvalid = errors.New("invalid")
)

// InvalidError is an [ErrInvalid] with the name of the IotConnector and the problem.
type InvalidError struct {
	Connector string
	Problem   error
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("IotConnector %s: %v", e.Connector, e.Problem)
}

// Is makes every InvalidError an ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Unwrap returns InvalidError.Problem.
func (e *InvalidError) Unwrap() error { return e.Problem }
