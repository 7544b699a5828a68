package logging

import (
	"log/slog"

	"github.com/go-logr/logr"
)

// Warn writes a line with slog.LevelWarn, which logr does not have.
func Warn(log logr.Logger, message string, values ...any) {
	slog.New(logr.ToSlogHandler(log.WithSink(unwrapped(log.GetSink())))).Warn(message, values...)
}

// unwrapped returns the LogSink below ending and withoutRoutine, which would drop slog.LevelWarn.
func unwrapped(sink logr.LogSink) logr.LogSink {
	switch s := sink.(type) {
	case ending:
		return unwrapped(s.LogSink)
	case withoutRoutine:
		return unwrapped(s.LogSink)
	default:
		return sink
	}
}

// lostLead is the text of controller-runtime's error when a manager.Manager loses its Lease while
// it ends. controller-runtime exports no name for the error.
const lostLead = "leader election lost"

// ending is a LogSink that leaves out the error lostLead while the operator ends.
type ending struct {
	logr.LogSink

	asked <-chan struct{} // is closed when the operator is asked to end
}

// QuietEnd returns a logr.Logger that leaves out the error lostLead after the channel asked is
// closed.
func QuietEnd(log logr.Logger, asked <-chan struct{}) logr.Logger {
	if log.GetSink() == nil {
		return log // Context.Done has no argument.
	}
	return log.WithSink(ending{log.GetSink(), asked})
}

// Error implements logr.LogSink.
func (e ending) Error(err error, msg string, keysAndValues ...any) {
	select {
	case <-e.asked:
		if err != nil && err.Error() == lostLead {
			return
		}
	default:
	}
	e.LogSink.Error(err, msg, keysAndValues...)
}

// WithValues implements logr.LogSink.
func (e ending) WithValues(keysAndValues ...any) logr.LogSink {
	return ending{e.LogSink.WithValues(keysAndValues...), e.asked}
}

// WithName implements logr.LogSink.
func (e ending) WithName(name string) logr.LogSink { return ending{e.LogSink.WithName(name), e.asked} }
