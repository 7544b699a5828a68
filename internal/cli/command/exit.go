package command

// ExitUsage is the exit code for wrong flags or arguments. A question about a missing
// object has exit code 1.
const ExitUsage = 2

// Misused returns an ExitError with ExitUsage, or nil.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return ExitError{err, ExitUsage}
}

// ExitError is an error with an exit code other than 1, such as ExitUsage.
type ExitError struct {
	error

	Code int
}

// Unwrap returns ExitError.error.
func (e ExitError) Unwrap() error { return e.error }
