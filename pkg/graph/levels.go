package graph

// Levels returns all nodes that some nodes lead to, level by level: `levels[0]` is from,
// and `levels[i+1]` has the neighbours of `levels[i]` that no earlier level has.
// Levels calls next() once for each level, with all nodes of the level, so that next
// may read their neighbours in one batch. With depth > 0, Levels ends after that
// many calls of next.
func Levels[T comparable](from []T, depth int, next func(level []T) []T) [][]T {
	seen := map[T]struct{}{}
	var levels [][]T
	for level := unseen(seen, from); len(level) > 0; level = unseen(seen, next(level)) {
		levels = append(levels, level)
		if depth > 0 && len(levels) > depth {
			break
		}
	}
	return levels
}

// unseen returns the nodes without a key `seen[node]`, each once, and adds these keys.
func unseen[T comparable](seen map[T]struct{}, nodes []T) []T {
	var fresh []T
	for _, node := range nodes {
		if _, known := seen[node]; !known {
			seen[node] = struct{}{}
			fresh = append(fresh, node)
		}
	}
	return fresh
}
