package relation

// HoldBatches has a [Waker] call nobody from other goroutines: its batches collect, and never end.
func (w *Waker) HoldBatches() { w.selectors.due, w.rings.due = true, true }
