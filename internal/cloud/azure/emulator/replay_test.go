package emulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kinship-dev/kinship/internal/shareddata"
)

// difference is one that stays, with its reason and how often the recordings have it.
type difference struct {
	text   string
	times  int
	reason string
}

// known are the differences between ARM and the emulator that stay.
var known = []difference{
	{"header Location: ARM no, emulator yes", 2, "a poll of a group's deletion names its address most times, not always"},
	{
		"code: ARM ResourceNotFound, emulator ResourceGroupNotFound", 3,
		"after a group's deletion ARM names the missing parent some times, and the group other times",
	},
	{
		"shape: ARM alone has properties.delegations[].properties.actions", 3,
		"the actions of a delegated service are that service's knowledge",
	},
	{
		"shape: ARM alone has properties.delegations[].properties.actions[]", 3,
		"the actions of a delegated service are that service's knowledge",
	},
}

// ordered are the refusals that a service makes by its knowledge of one property; a Fault orders them.
var ordered = []string{"InvalidValuesForRequestParameters"}

type cassette struct {
	Interactions []exchange
}

type exchange struct {
	Request struct {
		Method, URL, Body string
		Headers           map[string][]string
	}
	Response struct {
		Code    int
		Headers map[string][]string
		Body    string
	}
}

// TestRecordedExchanges sends what clients once sent to ARM, and compares the answers: status, headers, error codes,
// the shape of bodies, and their values outside of lists.
func TestRecordedExchanges(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddata.Path(t, "arm-recordings"), "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	met := map[string]int{}
	var table strings.Builder
	sums := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded cassette
		if err := yaml.Unmarshal(text, &recorded); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "Test_"), ".yaml")
		results := map[string]int{}
		replay := newReplay(t)
		for i, one := range recorded.Interactions {
			result, open := replay.compare(one, met)
			results[result]++
			t.Logf("%-52.52s %2d %-6s %-34.34s %3d  %s",
				name, i, one.Request.Method, last(one.Request.URL), one.Response.Code, result)
			for _, text := range open {
				t.Errorf("%s, exchange %d, %s %s: %s", name, i, one.Request.Method, one.Request.URL, text)
			}
		}
		fmt.Fprintf(&table, "%-62.62s %9d %6d %6d %8d %10d\n", name, len(recorded.Interactions), results["equal"],
			results["known"], results["ordered"], results["different"])
		for result, n := range results {
			sums[result] += n
		}
	}
	total := sums["equal"] + sums["known"] + sums["ordered"] + sums["different"]
	t.Logf("\n%-62s %9s %6s %6s %8s %10s\n%s%-62s %9d %6d %6d %8d %10d",
		"recording", "exchanges", "equal", "known", "ordered", "different", table.String(),
		"all", total, sums["equal"], sums["known"], sums["ordered"], sums["different"])
	for _, row := range known {
		t.Logf("known, %d times: %s (%s)", met[row.text], row.text, row.reason)
		if met[row.text] != row.times {
			t.Errorf("the known difference %q was met %d times, not %d", row.text, met[row.text], row.times)
		}
	}
}

// replay sends recorded requests to a cloud of its own.
type replay struct {
	t     *testing.T
	cloud *Server
	now   time.Time
	// addresses are those of the emulator's operations by the recorded ones, without their hosts.
	addresses map[string]string
}

func newReplay(t *testing.T) *replay {
	t.Helper()
	r := &replay{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), addresses: map[string]string{}}
	r.cloud = New(Options{Clock: func() time.Time { return r.now }})
	return r
}

// compare sends one request, and returns the result and the differences that are not known.
func (r *replay) compare(one exchange, met map[string]int) (string, []string) {
	result := "equal"
	recordedBody := parse(one.Response.Body)
	if code := textOf(mapOf(recordedBody["error"])["code"]); slices.Contains(ordered, code) {
		r.cloud.AddFault(Fault{Status: one.Response.Code, Code: code})
		result = "ordered"
	}
	r.letTimePass(one, recordedBody)
	answer := r.send(one)
	var open []string
	for _, text := range r.differences(one, answer, recordedBody) {
		if slices.ContainsFunc(known, func(row difference) bool { return row.text == text }) {
			met[text]++
			result = "known"
			continue
		}
		open = append(open, text)
	}
	if len(open) > 0 {
		result = "different"
	}
	return result, open
}

// letTimePass ends operations before a GET whose recorded answer says that they have ended.
func (r *replay) letTimePass(one exchange, body map[string]any) {
	if one.Request.Method != http.MethodGet || one.Response.Code == http.StatusAccepted {
		return
	}
	state := cmp.Or(textOf(body["status"]), textOf(mapOf(body["properties"])["provisioningState"]))
	switch state {
	case "Accepted", "Updating", "Creating", "Deleting", "InProgress":
	case "Running":
		r.now = r.now.Add(deploymentFlow.Takes * 3 / 4)
	default:
		r.now = r.now.Add(time.Hour)
	}
}

func (r *replay) send(one exchange) *httptest.ResponseRecorder {
	address := one.Request.URL
	if own, ok := r.addresses[withoutHost(address)]; ok {
		address = own
	}
	request := httptest.NewRequest(one.Request.Method, withoutHost(address), strings.NewReader(one.Request.Body))
	request.Host = "management.azure.com"
	answer := httptest.NewRecorder()
	r.cloud.ServeHTTP(answer, request)
	for _, name := range []string{"Azure-AsyncOperation", "Location"} {
		if theirs := header(one.Response.Headers, name); theirs != "" && answer.Header().Get(name) != "" {
			r.addresses[withoutHost(theirs)] = answer.Header().Get(name)
		}
	}
	return answer
}

// differences compares an answer with the recorded one.
func (r *replay) differences(one exchange, answer *httptest.ResponseRecorder, recorded map[string]any) []string {
	var all comparison
	all.add("status", fmt.Sprint(one.Response.Code), fmt.Sprint(answer.Code))
	for _, name := range []string{"Azure-AsyncOperation", "Azure-AsyncNotification", "Location", "ETag"} {
		theirs, ours := header(one.Response.Headers, name), answer.Header().Get(name)
		all.add("header "+name, yes(theirs), yes(ours))
		if theirs != "" && ours != "" {
			all.add("form of "+name, form(theirs), form(ours))
		}
	}
	for _, name := range []string{"Retry-After", "X-Ms-Failure-Cause"} {
		all.add("header "+name, cmp.Or(header(one.Response.Headers, name), "no"), cmp.Or(answer.Header().Get(name), "no"))
	}
	all.add("body", yes(strings.TrimSpace(one.Response.Body)), yes(answer.Body.String()))
	if one.Response.Body != "" && answer.Body.Len() > 0 {
		all.add("header Content-Type", mediaType(header(one.Response.Headers, "Content-Type")),
			mediaType(answer.Header().Get("Content-Type")))
	}
	all.addBodies(recorded, parse(answer.Body.String()))
	return all
}

// comparison are the differences between two answers.
type comparison []string

func (c *comparison) add(what, theirs, ours string) {
	if theirs != ours {
		*c = append(*c, fmt.Sprintf("%s: ARM %s, emulator %s", what, theirs, ours))
	}
}

// addBodies compares the codes of errors, the shapes of bodies, and the values outside of lists.
func (c *comparison) addBodies(recorded, body map[string]any) {
	if recorded["error"] != nil || body["error"] != nil {
		c.add("code", textOf(mapOf(recorded["error"])["code"]), textOf(mapOf(body["error"])["code"]))
	}
	for _, path := range sortedPaths(recorded) {
		if theirs, ours := valueAt(recorded, path), valueAt(body, path); ours != nil && !own.MatchString(path) {
			c.add("value of "+path, fmt.Sprint(theirs), fmt.Sprint(ours))
		}
	}
	theirs, ours := shape(recorded), shape(body)
	for _, path := range slices.Sorted(maps.Keys(theirs)) {
		if ours[path] == "" {
			*c = append(*c, "shape: ARM alone has "+path)
			continue
		}
		c.add("shape of "+path, theirs[path], ours[path])
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		if theirs[path] == "" {
			*c = append(*c, "shape: the emulator alone has "+path)
		}
	}
}

// own are the paths of values that each cloud chooses: marks, times, quotas and texts.
var own = regexp.MustCompile(`etag$|[gG]uid$|[tT]ime|timestamp|duration|correlationId|templateHash|[mM]essage|Quota|` +
	`description|error\.code|key\d`)

// sortedPaths returns the paths of the values in a body outside of lists.
func sortedPaths(body map[string]any) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(shape(body))), func(path string) bool {
		return strings.Contains(path, "[]") || !isScalar(valueAt(body, path))
	})
}

func isScalar(value any) bool {
	switch value.(type) {
	case nil, map[string]any, []any:
		return false
	}
	return true
}

// valueAt returns the value at a path, or nil.
func valueAt(body map[string]any, path string) any {
	first, rest, inner := strings.Cut(path, ".")
	if !inner {
		return body[first]
	}
	return valueAt(mapOf(body[first]), rest)
}

// shape returns the types of all values in a body by their paths. The elements of a list have one path.
func shape(body map[string]any) map[string]string {
	paths := map[string]string{}
	addShape(paths, "", body)
	delete(paths, "")
	return paths
}

func addShape(paths map[string]string, path string, value any) {
	paths[path] = fmt.Sprintf("%T", value)
	switch typed := value.(type) {
	case map[string]any:
		for key, inner := range typed {
			addShape(paths, strings.TrimPrefix(path+"."+key, "."), inner)
		}
	case []any:
		for _, inner := range typed {
			addShape(paths, path+"[]", inner)
		}
	}
}

func parse(text string) map[string]any {
	var body map[string]any
	if json.Unmarshal([]byte(text), &body) != nil {
		return nil
	}
	return body
}

func mediaType(text string) string {
	media, _, _ := strings.Cut(text, ";")
	return media
}

func yes(text string) string {
	if text == "" {
		return "no"
	}
	return "yes"
}

// header returns a recorded header in any case.
func header(headers map[string][]string, name string) string {
	for key, values := range headers {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

var (
	guids  = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
	opaque = regexp.MustCompile(`operationresults/[^?]+|operationStatuses/[^?]+|0x[0-9A-F]+`)
)

// form returns an address or an etag without its random parts.
func form(text string) string {
	text = guids.ReplaceAllString(withoutHost(text), "GUID")
	return opaque.ReplaceAllStringFunc(text, func(found string) string {
		kind, _, _ := strings.Cut(found, "/")
		return strings.TrimRight(kind, "0123456789ABCDEF") + "/OPAQUE"
	})
}

func withoutHost(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.RequestURI()
	}
	return address
}

// last returns the end of an address, for the table.
func last(address string) string {
	path, _, _ := strings.Cut(withoutHost(address), "?")
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}
