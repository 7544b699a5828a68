package gauge

import (
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	cases := map[string]struct {
		reason string
		stat   string
		want   time.Duration
		fails  bool
	}{
		"plain": {
			"user and system time are added",
			"4242 (kinship) S 1 4242 1 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 1000 1 1", 2 * time.Second, false,
		},
		"name": {
			"a name may hold anything",
			"4242 (a) b (c) S 1 4242 1 0 -1 4194560 100 0 0 0 7 3 0 0 20 0 9 0 1000 1 1", 100 * time.Millisecond, false,
		},
		"short": {"half a file is an error", "4242 (kinship) S 1 2", 0, true},
		"empty": {"so is none", "", 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseCPU(c.stat)
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("%s: got %v and %v, want %v", c.reason, got, err, c.want)
			}
		})
	}
}

func TestParseMemory(t *testing.T) {
	const status = "Name:\tkinship\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n"
	rss, err := parseMemory(status, "VmRSS")
	if err != nil || rss != 100<<20 {
		t.Errorf("got %d and %v, want 100 MiB", rss, err)
	}
	if _, err := parseMemory(status, "VmSwap"); err == nil {
		t.Error("a kernel thread has no memory, and that is an error, not zero")
	}
}
