package relation

// HoldBatches has a [Waker] call nobody from other goroutines: its batches collect, and never end.
func (w *Waker) HoldBatches() { w.selectors.due, w.rings.due = true, true }

// EndPauses wakes the declarers that wait, and has a [Waker] wake declarers at once again.
func (w *Waker) EndPauses() {
	w.chosen.mu.Lock()
	defer w.chosen.mu.Unlock()
	for _, q := range w.chosen.waiting {
		for _, id := range q.ids {
			w.Declarer(id)
		}
	}
	w.chosen.waiting = map[string]*queue{}
}
