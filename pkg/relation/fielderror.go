package relation

import "fmt"

// FieldError says what is wrong with a field that a user wrote, and what to do about it. An example is
// "spec.components[0].traits[1].trait: it needs an apiVersion and a kind".
type FieldError struct {
	// Field is the path of the field. For a field of another object than the one at hand, Field names the
	// object too, such as "spec.workloadRefPath of TraitDefinition/backups.example.com".
	Field string
	// Reason says what is wrong, and what to do.
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// Wrong returns a [FieldError] with a formatted reason.
func Wrong(field, format string, args ...any) *FieldError {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}
