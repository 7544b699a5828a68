package iot

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart, with errors.Is.
var (
	// ErrNotFound means that there is no such IotConnector, or that it has no such
	// entry.
	ErrNotFound = errors.New("not found")
	// ErrConflictExhausted means that others kept changing the IotConnector until the
	// deadline.
	ErrConflictExhausted = errors.New("others kept changing it")
	// ErrInvalid means that what was asked for can't be done, now or later.
	ErrInvalid = errors.New("invalid")
)

// InvalidError says what can't be done. It is an [ErrInvalid].
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

// Unwrap returns the problem.
func (e *InvalidError) Unwrap() error { return e.Problem }
