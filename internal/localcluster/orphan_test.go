package localcluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// beParent starts a control plane, prints its processes and waits to be killed. One child is
// stopped by a signal, so it cannot notice the end of its lifeline.
func beParent() {
	ctx := context.Background()
	c, err := Start(ctx, Options{})
	if err == nil {
		err = c.Pause(ctx, Scheduler)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pids := map[string]int{}
	for _, name := range programs {
		pids[name] = c.PID(name)
	}
	if err := json.NewEncoder(os.Stdout).Encode(pids); err != nil {
		os.Exit(1)
	}
	<-c.Done()
}

// TestKilledParent shows that not even SIGKILL to the parent leaves a process.
func TestKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0], "-test.run=^$")
	parent.Env = append(os.Environ(), parentVar+"=1", "TMPDIR="+t.TempDir())
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // Our signal ended the process, which Wait reports as an error.
	pids := map[string]int{}
	if err := json.Unmarshal(line, &pids); err != nil {
		t.Fatalf("the parent said %q (%v): %v", line, readErr, err)
	}
	t.Cleanup(func() { killLeft(pids) })

	if len(pids) != len(programs) {
		t.Errorf("processes %v, want one for each of %v", pids, programs)
	}
	eventually(t, func(context.Context) error {
		for name, pid := range pids {
			if pid == 0 || isRunning(pid) {
				return fmt.Errorf("%s (process %d) outlived its parent", name, pid)
			}
		}
		return nil
	})
}

// killLeft kills the remaining processes of a failed test: only processes that the parent
// printed, by their numbers.
func killLeft(pids map[string]int) {
	for _, pid := range pids {
		if pid > 0 && isRunning(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // The process may have ended meanwhile.
		}
	}
}

// isRunning tells whether a process exists and is no zombie: a zombie is an exit
// status that its new parent has not collected yet.
func isRunning(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
