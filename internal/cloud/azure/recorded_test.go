package azure

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kinship-dev/kinship/internal/shareddata"
)

// recordedAnswers are cassettes of go-vcr.
type recordedAnswers struct {
	Interactions []struct {
		Request  struct{ Method, URL string }
		Response struct {
			Code    int
			Headers map[string][]string
			Body    string
		}
	}
}

// TestRecordedAnswers reads answers that ARM once gave, and follows each operation by the recorded polls to its end.
func TestRecordedAnswers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddata.Path(t, "arm-recordings"), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	counts := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded recordedAnswers
		if err := yaml.Unmarshal(text, &recorded); err != nil {
			t.Fatal(err)
		}
		follower{t, filepath.Base(file), map[string]Operation{}, map[string]bool{}, counts}.follow(recorded)
	}
	t.Logf("answers: %v", counts)
	for _, want := range []string{"begun async", "begun location", "ended async", "ended location", "done", "missing"} {
		if counts[want] == 0 {
			t.Errorf("no answer is %q", want)
		}
	}
}

// follower reads the answers of one recording.
type follower struct {
	t       *testing.T
	name    string
	running map[string]Operation // by address
	// polled are the addresses that the client once requested: some clients read the resource instead.
	polled map[string]bool
	counts map[string]int
}

func (f follower) follow(recorded recordedAnswers) {
	own := func(address *url.URL) bool { return address.Host == "management.azure.com" }
	for _, one := range recorded.Interactions {
		f.polled[one.Request.URL] = true
	}
	for i, one := range recorded.Interactions {
		header := http.Header{}
		for key, values := range one.Response.Headers {
			header[http.CanonicalHeaderKey(key)] = values
		}
		m, err := readMessageText(one.Request.Method, &http.Response{StatusCode: one.Response.Code, Header: header},
			one.Response.Body)
		op, polls := f.running[one.Request.URL]
		switch {
		case err != nil:
			f.refused(i, err)
		case one.Request.Method == http.MethodGet && polls:
			answer, err := m.polled(op, own)
			f.next(i, op, answer, err)
		case one.Request.Method != http.MethodGet:
			answer, err := m.begun(Operation{Method: one.Request.Method}, own)
			f.begun(i, answer, err)
		}
	}
	for address := range f.running {
		f.t.Errorf("%s: the operation %s does not end", f.name, address)
	}
}

// refused checks the answer of a refusal.
func (f follower) refused(i int, err error) {
	if e, ok := errors.AsType[*Error](err); !ok || e.Code == "" {
		f.t.Errorf("%s, exchange %d: %v", f.name, i, err)
	}
	f.counts[Classify(err).Class.String()]++
}

// begun keeps the operation of an answer.
func (f follower) begun(i int, answer Answer, err error) {
	switch {
	case err != nil:
		f.t.Errorf("%s, exchange %d: %v", f.name, i, err)
	case answer.Operation == nil:
		f.counts["done"]++
	case answer.Operation.URL == "":
		f.t.Errorf("%s, exchange %d: the operation has no address", f.name, i)
	default:
		f.counts["begun "+string(answer.Operation.Style)]++
		if f.polled[answer.Operation.URL] {
			f.running[answer.Operation.URL] = *answer.Operation
		}
	}
}

// next keeps the operation of a poll.
func (f follower) next(i int, op Operation, answer Answer, err error) {
	if err != nil {
		f.t.Errorf("%s, exchange %d: %v", f.name, i, err)
		return
	}
	delete(f.running, op.URL)
	if answer.Operation != nil {
		f.counts["polled "+string(op.Style)]++
		f.running[answer.Operation.URL] = *answer.Operation
		return
	}
	f.counts[fmt.Sprintf("ended %s", op.Style)]++
}
