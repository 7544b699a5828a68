package guard

// Remembered returns the number of objects whose last write the Lock keeps.
func (l *Lock) Remembered() int { return l.writes.Len() }
