package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
)

// terminal returns both ends of a terminal: what a person types at the first is read from the second.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, file := range []*os.File{program, person} {
			if err := file.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return person, program
}

// TestUninstallQuestion answers the question on a terminal.
func TestUninstallQuestion(t *testing.T) {
	for answer, goesOn := range map[string]bool{"yes": true, "y": false, "": false, "yes please": false} {
		t.Run(answer, func(t *testing.T) {
			person, program := terminal(t)
			if _, err := fmt.Fprintln(person, answer); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			streams := genericiooptions.IOStreams{In: program, Out: &out}
			c := uninstallCommand{operatorCommand: operatorCommand{IOStreams: streams}}
			c.options.Config = &rest.Config{Host: "https://cluster.example"}
			if err := c.confirm(); (err == nil) != goesOn {
				t.Errorf("the error is %v, want to go on: %t", err, goesOn)
			}
			if !strings.Contains(out.String(), "https://cluster.example") {
				t.Errorf("the question does not name the cluster: %s", &out)
			}
		})
	}
}
