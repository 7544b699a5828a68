// Package lists has what packages slices and maps of the standard library lack.
package lists

// Map returns the results of a function for each item, in the order of the items. The result is never
// nil, so that JSON has [] for an empty list.
func Map[T, R any](items []T, of func(T) R) []R {
	results := make([]R, 0, len(items))
	for _, item := range items {
		results = append(results, of(item))
	}
	return results
}
