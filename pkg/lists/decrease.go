package lists

// Decrease subtracts 1 from the count of a key. Decrease removes a count of 0 from the map, so that keys
// which others invent take no memory.
func Decrease[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}
