package azure_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// TestAzcorePollersAgree sends the same requests with azcore's own Poller, which was written for ARM: the emulator's
// operations run and end for azcore as well.
func TestAzcorePollersAgree(t *testing.T) {
	pipeline := runtime.NewPipeline("test", "v1", runtime.PipelineOptions{}, &policy.ClientOptions{
		Retry: policy.RetryOptions{MaxRetries: -1},
	})
	for name, c := range courses() {
		if c.style == azure.OfResource && c.delete {
			continue // azcore takes a 202 without an address for an error of the service.
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ready(c.owners...)
			response, err := pipeline.Do(w.azcoreRequest(c))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			poller, err := runtime.NewPoller[map[string]any](response, pipeline, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, done := range []bool{false, true} {
				if done {
					w.settle()
				}
				polled, err := poller.Poll(context.Background())
				if polled != nil {
					polled.Body.Close()
				}
				if err != nil || poller.Done() != done {
					t.Fatalf("the poller is done: %v, want %v (%v)", poller.Done(), done, err)
				}
			}
			body, err := poller.Result(context.Background())
			if err != nil || (!c.delete && state(body) != "Succeeded") {
				t.Errorf("the result: %v, %v", body, err)
			}
		})
	}
}

// azcoreRequest is the request that begins a course.
func (w *world) azcoreRequest(c course) *policy.Request {
	w.t.Helper()
	method := http.MethodPut
	if c.delete {
		method = http.MethodDelete
	}
	request, err := runtime.NewRequest(context.Background(), method, w.server.URL+c.id+"?api-version="+version)
	if err != nil {
		w.t.Fatal(err)
	}
	if !c.delete {
		body := streaming.NopCloser(strings.NewReader(`{"location": "westus2"}`))
		if err := request.SetBody(body, "application/json"); err != nil {
			w.t.Fatal(err)
		}
	}
	return request
}
