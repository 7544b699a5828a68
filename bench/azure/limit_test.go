package main

import "testing"

// TestLimit: a figure above its limit is an error, unless the limit is off.
func TestLimit(t *testing.T) {
	for name, c := range map[string]struct {
		got, most float64
		fails     bool
	}{
		"off":   {9, off, false},
		"equal": {3, 3, false},
		"above": {3.01, 3, true},
		"zero":  {1, 0, true},
	} {
		if err := limit("calls", c.got, c.most); (err != nil) != c.fails {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
