package logging

import (
	"context"
	"errors"
	"io"

	"github.com/go-logr/logr"
	"golang.org/x/net/http2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// routine are messages of controller-runtime about each controller and source: an operator with all
// packs has more than 100 of each.
var routine = map[string]bool{
	"Registering webhook":     true,
	"Starting webhook server": true,
	"Serving webhook server":  true,
	"Starting metrics server": true,
	"Serving metrics server":  true,
	"starting server":         true,
	"Starting EventSource":    true,
	"Starting Controller":     true,
	"Starting workers":        true,
	"Shutdown signal received, waiting for all workers to finish": true,
	"All workers finished": true,
	"Stopping and waiting for non leader election runnables": true,
	"Stopping and waiting for leader election runnables":     true,
	"Stopping and waiting for warmup runnables":              true,
	"Stopping and waiting for caches":                        true,
	"Stopping and waiting for webhooks":                      true,
	"Stopping and waiting for HTTP servers":                  true,
	"Wait completed, proceeding to shutdown the manager":     true,
	"Shutting down webhook server with timeout of 1 minute":  true,
	"Shutting down metrics server with timeout of 1 minute":  true,
	"shutting down server":                                   true,
}

// withoutRoutine is a LogSink that writes the messages in routine and errors about the end of a namespace at verbosity
// 1, and a missing right of the operator once in denialPause.
type withoutRoutine struct {
	logr.LogSink

	denials denials
}

// WithoutRoutine returns a logr.Logger for controller-runtime: a start and an end of the operator
// write a few lines, and with --verbose hundreds.
func WithoutRoutine(log logr.Logger) logr.Logger {
	if log.GetSink() == nil {
		return log
	}
	return log.WithSink(withoutRoutine{log.GetSink(), newDenials(clock.RealClock{})})
}

// Info implements logr.LogSink.
func (w withoutRoutine) Info(level int, msg string, keysAndValues ...any) {
	if routine[msg] {
		if level++; !w.Enabled(level) {
			return
		}
	}
	w.LogSink.Info(level, msg, keysAndValues...)
}

// rejectedEvent is the message of client-go about an event that the API server does not take.
const rejectedEvent = "Server rejected event (will not retry!)"

// brokenOff is the message of controller-runtime about a review whose client has ended the call. The API server does so
// when its own client gives up.
const brokenOff = "unable to read the body from the incoming request"

// isOfEnd reports whether an error only says that a namespace is being deleted, that an event came after the end of its
// namespace, or that a client has ended its call: nobody has to do anything.
func isOfEnd(err error, msg string) bool {
	return (msg == brokenOff && isBrokenOff(err)) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		(msg == rejectedEvent && apierrors.IsNotFound(err))
}

// disconnected is the text of the error of Go's HTTP/2 server for a connection that has ended. The error has no type.
const disconnected = "client disconnected"

// isBrokenOff reports whether a client has ended its call before the server has read the body.
func isBrokenOff(err error) bool {
	if err != nil && err.Error() == disconnected {
		return true
	}
	stream, isStream := errors.AsType[http2.StreamError](err)
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) ||
		(isStream && stream.Code == http2.ErrCodeCancel)
}

// Error implements logr.LogSink.
func (w withoutRoutine) Error(err error, msg string, keysAndValues ...any) {
	if isOfEnd(err, msg) {
		if w.Enabled(1) {
			w.LogSink.Info(1, msg, append(keysAndValues, "error", err)...)
		}
		return
	}
	if w.denials.isNew(err) || w.Enabled(1) {
		w.LogSink.Error(err, msg, keysAndValues...)
	}
}

// WithValues implements logr.LogSink.
func (w withoutRoutine) WithValues(keysAndValues ...any) logr.LogSink {
	return withoutRoutine{w.LogSink.WithValues(keysAndValues...), w.denials}
}

// WithName implements logr.LogSink.
func (w withoutRoutine) WithName(name string) logr.LogSink {
	return withoutRoutine{w.LogSink.WithName(name), w.denials}
}
