package openstack_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// endlessVar makes the test binary the operator that calls an endless cloud; its value is the
// address of that cloud.
const endlessVar = "KINSHIP_TEST_ENDLESS"

// most is the largest memory of such a process, in KiB: the limit of all answers together, and
// as much again for garbage and for the rest of the process.
const most = 256 << 10

// raced is the factor for the race detector, by which a process takes more memory and makes fewer calls.
var raced = 1

// endless are answers that do not end, or not soon, by the last part of the path.
var endless = map[string]func(w io.Writer, next string) error{
	"pages":   func(w io.Writer, next string) error { return page(w, next, item, 2000) },
	"one":     func(w io.Writer, next string) error { return page(w, next, item, forEver) },
	"tiny":    func(w io.Writer, next string) error { return page(w, next, "{},", forEver) },
	"heavy":   func(w io.Writer, next string) error { return page(w, next, nested, 10) },
	"nested":  func(w io.Writer, next string) error { return page(w, next, nested, forEver) },
	"item":    func(w io.Writer, next string) error { return page(w, next+`"}],"networks":[{"a":"`, "x", forEver) },
	"aside":   func(w io.Writer, next string) error { return page(w, next+`","x":"`, "x", forEver) },
	"refusal": func(w io.Writer, next string) error { return page(w, next, item, forEver) },
	"unlike":  func(w io.Writer, next string) error { return page(w, next, "{},", 10) },
}

const forEver = 1 << 40

var (
	// item is one item of a list, and nested an item that takes much more memory than its
	// length.
	item   = `{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","name":"` + strings.Repeat("n", 200) + `","tags":["a","b"]},`
	nested = `{"a":[` + strings.Repeat("{},", 1e5) + `{}]},`
)

// page writes a page of n items.
func page(w io.Writer, next, item string, n int) error {
	_, err := fmt.Fprintf(w, `{"networks_links":[{"rel":"next","href":"%s"}],"networks":[`, next)
	if strings.HasSuffix(next, `:"`) { // The endless part is a string.
		_, err = fmt.Fprintf(w, `{"networks_links":[{"rel":"next","href":"%s`, next)
	}
	many := max(1, min(n, 1<<16/len(item)))
	for chunk := strings.Repeat(item, many); n > 0 && err == nil; n -= many {
		_, err = io.WriteString(w, chunk)
	}
	if err == nil {
		_, err = io.WriteString(w, `{"id":"last"}]}`)
	}
	return err
}

// endlessCloud returns a cloud whose services are all endless, each in another way, compressed
// or not.
func endlessCloud(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := "http://" + r.Host
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			w.Header().Set("X-Subject-Token", "token")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"token":{"expires_at":"2099-01-01T00:00:00.000000Z","user":{"id":"u"},`+
				`"catalog":[{"type":"network","endpoints":[{"interface":"public","region_id":"RegionOne",`+
				`"region":"RegionOne","url":"%s/v2.0/"}]}]}}`, own)
			return
		}
		way := path.Base(r.URL.Path)
		write := endless[way]
		if write == nil {
			fmt.Fprintf(w, `{"versions":[{"id":"v2.0","status":"CURRENT",`+
				`"links":[{"rel":"self","href":"%s/v2.0/"}]}]}`, own)
			return
		}
		var to io.Writer = w
		if r.URL.Query().Has("packed") {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			defer func() { _ = packed.Close() }() // The client aborts the answer.
			to = packed
		}
		if way == "refusal" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = write(to, own+r.URL.Path+"?"+r.URL.RawQuery) // The client aborts the answers.
	}))
	t.Cleanup(server.Close)
	return server
}

// TestEndlessPages: for any answer of a cloud, and any number of concurrent calls, the operator
// keeps its memory limit and returns an error.
func TestEndlessPages(t *testing.T) {
	if address := os.Getenv(endlessVar); address != "" {
		beOperator(t, address)
		return
	}
	// Not parallel: the child takes both cores, and other tests here measure time.
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	operator := exec.CommandContext(t.Context(), program, "-test.run", "^TestEndlessPages$", "-test.v")
	operator.Env = append(os.Environ(), endlessVar+"="+endlessCloud(t).URL)
	text, err := operator.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	_, peak, _ := strings.Cut(string(text), "peak ")
	peak, _, _ = strings.Cut(peak, " ")
	kib, err := strconv.Atoi(peak)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if kib > raced*most {
		t.Errorf("the operator took %d MiB, more than %d", kib>>10, raced*most>>10)
	}
	t.Logf("the operator took %d MiB", kib>>10)
}

// TestLongList reads endless lists, one at a time. A list of small items ends at the limit of
// items, and a list of few large items at the limit of memory.
func TestLongList(t *testing.T) {
	text := "clouds: {openstack: {auth: {auth_url: '" + endlessCloud(t).URL +
		"/v3', username: u, password: p}, region_name: RegionOne}}"
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback, QPS: 1e6, Burst: 1e6})
	client, err := login(t, clouds, parse(t, text)).Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for way, want := range map[string]struct {
		atMost int
		says   string
	}{
		"pages": {10_000 + 1, "lists more than 10000 networks"},
		"heavy": {20, "MiB"},
	} {
		kept := 0
		_, err := openstack.List{
			Address: client.ServiceURL(way), Many: "networks", Next: nextPage,
			Keep: func(map[string]any) bool {
				kept++
				return kept <= want.atMost // Else this process would run out of memory.
			},
		}.Read(t.Context(), client)
		if err == nil || !strings.Contains(err.Error(), want.says) || kept > want.atMost {
			t.Errorf("%s: the list ends with %v after %d items, want %q after at most %d",
				way, err, kept, want.says, want.atMost)
		}
	}
}

// nextPage returns the address of the next page.
func nextPage(page map[string]any) string {
	links, _ := page["networks_links"].([]any)
	link, _ := links[0].(map[string]any)
	next, _ := link["href"].(string)
	return next
}

// beOperator asks an endless cloud for everything at once, and prints how much memory that
// has taken.
func beOperator(t *testing.T, address string) {
	t.Helper()
	debug.SetGCPercent(25) // As the operator does.
	text := "clouds: {openstack: {auth: {auth_url: '" + address +
		"/v3', username: u, password: p}, region_name: RegionOne}}"
	clouds := openstack.New(openstack.Options{
		Open: openstack.Loopback, QPS: 1e6, Burst: 1e6, Calls: 1000,
		Timeout: time.Hour, // All calls at once take a minute on a slow machine, with -race.
	})
	scope := login(t, clouds, parse(t, text))
	client, err := scope.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var asked sync.WaitGroup
	for way := range endless {
		for _, query := range []string{"?", "?packed=1&"} {
			times := max(1, 4/raced)
			if way == "unlike" { // A thousand short pages each, of which nothing is kept.
				times = 1
			}
			for range times {
				ctx, end := clouds.Account(t.Context())
				t.Cleanup(end)
				asked.Go(func() { list(ctx, t, client, way, query) })
				asked.Go(func() { single(ctx, t, client, way, query) })
			}
		}
	}
	asked.Wait()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	t.Logf("peak %s KiB", strings.Fields(peak)[0])
}

func list(ctx context.Context, t *testing.T, client *gophercloud.ServiceClient, way, query string) {
	t.Helper()
	all, err := openstack.List{
		Address: client.ServiceURL(way) + query, Many: "networks", Next: nextPage,
		Keep: func(map[string]any) bool { return way != "unlike" },
	}.Read(ctx, client)
	check(t, "list "+way+query, err, way == "refusal")
	if all != nil {
		t.Errorf("%s%s: %d items are taken for the whole list", way, query, len(all))
	}
}

func single(ctx context.Context, t *testing.T, client *gophercloud.ServiceClient, way, query string) {
	t.Helper()
	if way == "unlike" || way == "pages" || way == "heavy" {
		return // The pages are short.
	}
	var answer map[string]any
	response, err := client.Get(ctx, client.ServiceURL(way)+query, &answer, nil)
	if err == nil {
		_ = response.Body.Close()
	}
	check(t, way+query, err, way == "refusal")
}

// check expects that a cloud is tried again, and is told not to be big but to be too big.
func check(t *testing.T, what string, err error, refused bool) {
	t.Helper()
	if refused {
		if got := openstack.Classify(err); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	if _, ok := errors.AsType[*openstack.TooMuchError](err); !ok || openstack.Classify(err).Class != openstack.Retryable {
		t.Errorf("%s: %v", what, err)
	}
}
