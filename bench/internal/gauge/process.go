package gauge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc: USER_HZ, which is 100 on every Linux that Go supports.
const clockTick = 10 * time.Millisecond

// Process is the resource usage of a process since its start.
type Process struct {
	CPU time.Duration
	// RSS is the current memory in bytes (VmRSS), Peak the largest memory so far (VmHWM).
	RSS, Peak int64
}

// ReadProcess reads a [Process] from a proc file system, such as /proc.
func ReadProcess(proc string, pid int) (Process, error) {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, fmt.Errorf("read CPU time: %w", err)
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Process{}, fmt.Errorf("read memory: %w", err)
	}
	cpu, err := parseCPU(string(stat))
	if err != nil {
		return Process{}, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	p := Process{CPU: cpu}
	if p.RSS, err = parseMemory(string(status), "VmRSS"); err != nil {
		return Process{}, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	if p.Peak, err = parseMemory(string(status), "VmHWM"); err != nil {
		return Process{}, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	return p, nil
}

// utimeField and stimeField are positions in /proc/PID/stat, counted from the field state, which
// follows the process name.
const (
	utimeField = 11
	stimeField = 12
)

// parseCPU reads utime and stime from /proc/PID/stat. The process name may contain blanks and
// brackets, so parseCPU counts fields from the last ")".
func parseCPU(stat string) (time.Duration, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("stat has no name")
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= stimeField {
		return 0, fmt.Errorf("stat has only %d fields", len(fields))
	}
	var ticks int64
	for _, field := range fields[utimeField : stimeField+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse ticks: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// parseMemory reads a line such as "VmRSS:     1234 kB" of /proc/PID/status, and returns bytes.
func parseMemory(status, name string) (int64, error) {
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse %s: %w", name, err)
		}
		return n * 1024, nil
	}
	return 0, fmt.Errorf("status has no %s", name)
}
