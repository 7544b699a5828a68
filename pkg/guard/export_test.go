package guard

// Remembered returns of how many objects the lock remembers what it wrote.
func (l *Lock) Remembered() int { return l.writes.Len() }
