package guard

// Remembered returns of how many objects the lock remembers what it wrote.
func (l *Lock) Remembered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.newest)
}
