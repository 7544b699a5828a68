package azure_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// token is a credential whose token must not leave the endpoint.
type token struct{}

// GetToken implements azcore.TokenCredential.
func (token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "secret", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// hostile is a cloud that answers as it likes.
func hostile(t *testing.T, handle http.HandlerFunc, change ...func(*azure.Options)) *azure.Client {
	t.Helper()
	server := httptest.NewTLSServer(handle)
	t.Cleanup(server.Close)
	options := azure.Options{
		Endpoint: server.URL, Audience: "https://arm", Credential: token{}, Transport: server.Client().Transport,
		MaxAnswer: 64 << 10,
	}
	for _, one := range change {
		one(&options)
	}
	client, err := azure.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func parse(t *testing.T, text string) azure.ID {
	t.Helper()
	id, err := azure.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// elsewhere is another host, which must not be called. The client trusts its certificate.
func elsewhere(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was called with Authorization %q", r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// endless writes until the client is gone.
func endless(w http.ResponseWriter, status int) {
	w.WriteHeader(status)
	for range 1 << 14 { // 64 MiB, so that a client without a bound fails the test and not the machine
		if _, err := fmt.Fprint(w, strings.Repeat("a", 4096)); err != nil {
			return
		}
	}
}

func TestEndlessAnswers(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"of success": func(w http.ResponseWriter, _ *http.Request) { endless(w, 200) },
		"of refusal": func(w http.ResponseWriter, _ *http.Request) { endless(w, 404) },
		"packed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			for range 1 << 14 {
				if _, err := packed.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		},
	} {
		client := hostile(t, handle)
		_, err := client.Get(context.Background(), parse(t, network), version)
		if _, ok := errors.AsType[*azure.TooMuchError](err); !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f := azure.Classify(err); f.Class != azure.RetrySlowly || f.Outage {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestRedirects(t *testing.T) {
	other := elsewhere(t)
	var to atomic.Value
	var calls atomic.Int32
	client := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.URL.Path == "/moved" {
			_, _ = fmt.Fprint(w, `{"name": "moved"}`)
			return
		}
		http.Redirect(w, r, fmt.Sprint(to.Load()), http.StatusTemporaryRedirect)
	})
	get := func(address string) (azure.Answer, error) {
		to.Store(address)
		calls.Store(0)
		return client.Get(context.Background(), parse(t, network), version)
	}
	_, err := get(other + "/moved")
	if _, ok := errors.AsType[*azure.HostError](err); !ok || azure.Classify(err).Class != azure.RetrySlowly {
		t.Errorf("to another host: %v", err)
	}
	if answer, err := get("/moved"); err != nil || answer.Body["name"] != "moved" {
		t.Errorf("on the same host: %v, %v", answer, err)
	}
	if _, err = get("/again"); err == nil || calls.Load() > 10 {
		t.Errorf("a loop has %d calls: %v", calls.Load(), err)
	}
}

// TestRedirectedPut has a PUT answered by 302: net/http would send a GET, whose answer looks like that of a PUT.
func TestRedirectedPut(t *testing.T) {
	client := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			t.Errorf("%s was sent", r.Method)
		}
		http.Redirect(w, r, "/moved", http.StatusFound)
	})
	_, err := client.Put(context.Background(), parse(t, network), version, map[string]any{}, azure.Condition{})
	if _, ok := errors.AsType[*azure.HostError](err); !ok {
		t.Errorf("%v", err)
	}
}

// TestOperationsElsewhere has addresses of operations and pages on another host, and a forged token.
func TestOperationsElsewhere(t *testing.T) {
	other := elsewhere(t)
	client := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			w.Header().Set("Azure-AsyncOperation", other)
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprint(w, `{"properties": {"provisioningState": "Updating"}}`)
		case strings.HasSuffix(r.URL.Path, "/virtualNetworks"):
			_, _ = fmt.Fprintf(w, `{"value": [], "nextLink": "%s"}`, other)
		default:
			_, _ = fmt.Fprint(w, `{"properties": {"provisioningState": "Succeeded"}}`)
		}
	})
	ctx, id := context.Background(), parse(t, network)
	answer, err := client.Put(ctx, id, version, map[string]any{}, azure.Condition{})
	if err != nil || answer.Operation == nil || answer.Operation.Style != azure.OfResource {
		t.Fatalf("%v, %v", answer, err)
	}
	if answer, err = client.Poll(ctx, *answer.Operation); err != nil || answer.Operation != nil {
		t.Errorf("the resource is polled instead: %v, %v", answer, err)
	}
	for _, address := range []string{
		other, "https://management.azure.com@" + strings.TrimPrefix(other, "https://"), "//x", "\x00",
	} {
		forged := azure.Operation{Style: azure.Location, URL: address, Method: http.MethodPut, ID: id, Version: version}
		if answer, err := client.Poll(ctx, forged); err == nil {
			t.Errorf("a forged token: %v", answer)
		}
	}
	if _, err := client.List(ctx, parse(t, group), networks, version); err == nil {
		t.Error("the next page is on another host")
	}
}

// TestHangingClouds has a cloud that never answers, and one that never ends its answer.
func TestHangingClouds(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	for name, handle := range map[string]http.HandlerFunc{
		"no answer": func(http.ResponseWriter, *http.Request) { <-done },
		"no end": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"name":`)
			_ = http.NewResponseController(w).Flush()
			<-done
		},
	} {
		client := hostile(t, handle, func(o *azure.Options) { o.Timeout = 50 * time.Millisecond })
		_, err := client.Put(context.Background(), parse(t, network), version, map[string]any{}, azure.Condition{})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if f := azure.Classify(err); f.Class != azure.RetrySoon || !f.Late || !f.Outage {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// hangingLogin is a credential that waits for a host of Microsoft Entra.
type hangingLogin struct{}

// GetToken implements azcore.TokenCredential.
func (hangingLogin) GetToken(ctx context.Context, _ policy.TokenRequestOptions) (azcore.AccessToken, error) {
	<-ctx.Done()
	return azcore.AccessToken{}, ctx.Err()
}

func TestHangingLogin(t *testing.T) {
	client := hostile(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent without a token") },
		func(o *azure.Options) { o.Credential, o.Timeout = hangingLogin{}, 50*time.Millisecond })
	_, err := client.Get(context.Background(), parse(t, network), version)
	if err == nil {
		t.Fatal("no error")
	}
	if f := azure.Classify(err); f.Class != azure.RetrySoon || !f.Outage {
		t.Errorf("%+v", f)
	}
}

func TestAnswersThatAreNoResource(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "a page": "<html></html>", "a list": "[]", "null": "null", "half": `{"name":`,
		"depth": strings.Repeat("[", 20000),
	} {
		client := hostile(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) })
		_, err := client.Get(context.Background(), parse(t, network), version)
		if err == nil || azure.IsMissing(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	client := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"value": [{}], "nextLink": "https://`+"%"+`"}`)
	})
	if _, err := client.List(context.Background(), parse(t, group), networks, version); err == nil {
		t.Error("a wrong address of the next page")
	}
}

// TestEndlessList has a list whose pages name each other.
func TestEndlessList(t *testing.T) {
	var calls atomic.Int32
	client := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"value": [{}], "nextLink": "https://%s%s?page=%d"}`, r.Host, r.URL.Path, calls.Add(1))
	})
	if _, err := client.List(context.Background(), parse(t, group), networks, version); err == nil {
		t.Error("the list has an end")
	}
	if calls.Load() > 1000 {
		t.Errorf("%d pages were read", calls.Load())
	}
}

func TestCredentials(t *testing.T) {
	var sent atomic.Value
	handle := func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.Header.Get("Authorization"))
		_, _ = fmt.Fprint(w, `{}`)
	}
	get := func(client *azure.Client) error {
		_, err := client.Get(context.Background(), parse(t, network), version)
		return err
	}
	if err := get(hostile(t, handle)); err != nil || sent.Load() != "Bearer secret" {
		t.Errorf("%v, %v", sent.Load(), err)
	}
	if err := get(hostile(t, handle, func(o *azure.Options) { o.Credential = nil })); err != nil || sent.Load() != "" {
		t.Errorf("none: %v, %v", sent.Load(), err)
	}
	plain := httptest.NewServer(http.HandlerFunc(handle))
	defer plain.Close()
	if err := get(hostile(t, handle, func(o *azure.Options) { o.Endpoint = plain.URL })); err == nil {
		t.Error("a token was sent without TLS")
	}
}

// TestQueriesAreNotShown: the query of an operation's address has a signature. No error shows the query, however the
// request or its answer fails.
func TestQueriesAreNotShown(t *testing.T) {
	const signed = "?t=1&c=secretC&s=secretS"
	var location atomic.Value
	var endpoint string
	client := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		if to := fmt.Sprint(location.Load()); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		panic(http.ErrAbortHandler)
	}, func(o *azure.Options) { endpoint = o.Endpoint })
	ctx, id := context.Background(), parse(t, network)
	for _, c := range []struct{ address, location string }{
		{endpoint + "/op" + signed, ""},
		{endpoint + "/op" + signed, endpoint + "/op" + signed},
		{endpoint + "/op" + signed, "https://elsewhere" + signed},
		{endpoint + "/op" + signed, "https://%" + signed},
		{endpoint + "/op" + signed, "/%zz" + signed},
		{endpoint + "/%zz" + signed, ""},
		{endpoint + "/\x01" + signed + "&a=\x01&s=secret", ""},
		{"https://elsewhere/" + signed, ""},
	} {
		location.Store(c.location)
		op := azure.Operation{Style: azure.Location, URL: c.address, Method: http.MethodPut, ID: id, Version: version}
		_, err := client.Poll(ctx, op)
		if err == nil {
			t.Errorf("%+v: no error", c)
			continue
		}
		f := azure.Classify(err)
		for _, text := range []string{err.Error(), f.Message, f.Code} {
			if strings.Contains(text, "secret") {
				t.Errorf("%+v: %q", c, text)
			}
		}
	}
}

// TestLongETags: an ETag that is longer than any of ARM is left out: the server would refuse its header.
func TestLongETags(t *testing.T) {
	for size, want := range map[int]int{1024: 1024, 1025: 0, 30 << 10: 0} {
		etag := strings.Repeat("e", size)
		client := hostile(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "inHeader") {
				w.Header().Set("ETag", etag)
			}
			_, _ = fmt.Fprintf(w, `{"etag": %q}`, etag)
		})
		for _, name := range []string{"inHeader", "inBody"} {
			answer, err := client.Get(context.Background(), parse(t, group+"/providers/"+networks+"/"+name), version)
			if err != nil || len(answer.ETag) != want {
				t.Errorf("%s, %d bytes: an ETag of %d bytes, want %d: %v", name, size, len(answer.ETag), want, err)
			}
		}
	}
}
