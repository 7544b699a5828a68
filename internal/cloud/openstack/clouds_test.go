package openstack_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

func start(t *testing.T, options emulator.Options) *emulator.Server {
	t.Helper()
	cloud, err := emulator.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	return cloud
}

func parse(t *testing.T, text string) *openstack.Cloud {
	t.Helper()
	cloud, err := openstack.ParseCloud(map[string][]byte{openstack.CloudsKey: []byte(text)}, "openstack")
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

func create(ctx context.Context, scope *openstack.Scope) error {
	c, err := scope.Network(ctx)
	if err != nil {
		return err
	}
	_, err = networks.Create(ctx, c, networks.CreateOpts{Name: "n"}).Extract()
	return err
}

func login(t *testing.T, clouds *openstack.Clouds, cloud *openstack.Cloud) *openstack.Scope {
	t.Helper()
	scope, err := clouds.Scope(t.Context(), cloud)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

var tokenPost = emulator.Call{Service: "identity", Method: "POST", Resource: "auth/tokens"}

func TestManyAskAndOneLogsIn(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{Latency: 20 * time.Millisecond})
	clouds, cloud := openstack.New(openstack.Options{Open: openstack.Loopback}), parse(t, server.CloudsYAML())
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			scope, err := clouds.Scope(t.Context(), cloud)
			if err == nil {
				err = create(t.Context(), scope)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	want := map[emulator.Call]int{
		tokenPost: 1,
		{Service: "network", Method: "GET", Resource: ""}:          1,
		{Service: "network", Method: "POST", Resource: "networks"}: 20,
	}
	if diff := cmp.Diff(want, server.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestTheFirstMayGiveUp(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{Latency: time.Second})
	clouds, cloud := openstack.New(openstack.Options{Open: openstack.Loopback}), parse(t, server.CloudsYAML())
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := clouds.Scope(short, cloud); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first got %v", err)
	}
	login(t, clouds, cloud)
	if n := server.Calls()[tokenPost]; n != 1 {
		t.Errorf("%d logins", n)
	}
}

func TestRefusedCredentialsAreNotTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback})
	wrong := parse(t, strings.ReplaceAll(server.CloudsYAML(), "password: secret", "password: wrong"))
	for range 5 {
		_, err := clouds.Scope(t.Context(), wrong)
		if err == nil || openstack.Classify(err).Class != openstack.Unauthorized {
			t.Fatalf("with a wrong password: %v", err)
		}
	}
	if n := server.Calls()[tokenPost]; n != 1 {
		t.Errorf("%d logins with a wrong password", n)
	}
	// A Secret that was corrected has another key, and is not held up.
	login(t, clouds, parse(t, server.CloudsYAML()))
}

// TestRefusedWithoutSecrets: the error of a failed login has no password, even if a user writes
// the password into the URL.
func TestRefusedWithoutSecrets(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	text := strings.ReplaceAll(server.CloudsYAML(), "auth_url: http://", "auth_url: http://me:hidden@")
	for reason, text := range map[string]string{
		"a wrong password": strings.ReplaceAll(text, "password: secret", "password: wrong"),
		"no answer":        strings.ReplaceAll(text, server.URL()[strings.LastIndex(server.URL(), ":"):], ":1"),
	} {
		_, err := openstack.New(openstack.Options{Open: openstack.Loopback}).Scope(t.Context(), parse(t, text))
		if err == nil || strings.Contains(openstack.Classify(err).Message, "hidden") {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

func TestAnExpiredTokenIsRenewedUnderway(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	scope := login(t, openstack.New(openstack.Options{Open: openstack.Loopback}), parse(t, server.CloudsYAML()))
	if err := create(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	server.ExpireTokens()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if err := create(t.Context(), scope); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := server.Calls()[tokenPost]; n != 2 {
		t.Errorf("%d logins", n)
	}
}

// TestAChangedPasswordIsTriedOnce: callers with a scope do not lock its account when the
// password has changed. Each attempt counts in Keystone.
func TestAChangedPasswordIsTriedOnce(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds, old := openstack.New(openstack.Options{Open: openstack.Loopback}), parse(t, server.CloudsYAML())
	scope := login(t, clouds, old)
	if err := create(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	admin, err := openstack.ParseCloud(
		map[string][]byte{openstack.CloudsKey: []byte(server.CloudsYAML())}, "openstack-admin")
	if err != nil {
		t.Fatal(err)
	}
	keystone, err := login(t, clouds, admin).Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	change := users.UpdateOpts{Password: "new"}
	if _, err := users.Update(t.Context(), keystone, scope.UserID, change).Extract(); err != nil {
		t.Fatal(err)
	}
	server.ExpireTokens()
	server.ResetCalls()
	var group sync.WaitGroup
	for i := range 50 {
		try := func() {
			if err := create(t.Context(), scope); openstack.Classify(err).Class != openstack.Unauthorized {
				t.Errorf("with the old password: %v", err)
			}
		}
		if i < 25 {
			group.Go(try)
			continue
		}
		group.Wait()
		try()
	}
	if _, err := clouds.Scope(t.Context(), old); err == nil || openstack.Classify(err).Class != openstack.Unauthorized {
		t.Errorf("the scope is given out: %v", err)
	}
	if n := server.Calls()[tokenPost]; n != 1 {
		t.Errorf("%d logins with the old password", n)
	}
	rotated := strings.ReplaceAll(server.CloudsYAML(), "password: secret", "password: new")
	if err := create(t.Context(), login(t, clouds, parse(t, rotated))); err != nil {
		t.Errorf("with the new password: %v", err)
	}
}

func TestAScopeEndsWithItsToken(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{TokenLife: time.Nanosecond})
	clouds, cloud := openstack.New(openstack.Options{Open: openstack.Loopback}), parse(t, server.CloudsYAML())
	if one := login(t, clouds, cloud); login(t, clouds, cloud) == one {
		t.Error("a scope without a token is given out")
	}
}

func TestRetryAfterHoldsEverybody(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback})
	scope := login(t, clouds, parse(t, server.CloudsYAML()))
	if err := create(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	server.AddFault(emulator.Fault{
		Method: "POST", Resource: "networks", Status: http.StatusTooManyRequests,
		RetryAfter: 1,
	})
	begin := time.Now() // The pause begins later.
	refused := openstack.Classify(create(t.Context(), scope))
	if refused.Class != openstack.Retryable || refused.After != time.Second {
		t.Errorf("refused with %+v", refused)
	}
	if err := create(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("the next call came after %s", took)
	}
	// A long pause is an error: a worker must not sleep through it.
	server.AddFault(emulator.Fault{
		Method: "POST", Resource: "networks", Status: http.StatusServiceUnavailable,
		RetryAfter: 60,
	})
	_ = create(t.Context(), scope)
	server.ResetCalls()
	paused := openstack.Classify(create(t.Context(), scope))
	if paused.After < 50*time.Second || server.CallCount("") != 0 {
		t.Errorf("paused: %+v, %d calls", paused, server.CallCount(""))
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback, QPS: 20, Burst: 1})
	scope := login(t, clouds, parse(t, server.CloudsYAML()))
	begin := time.Now()
	for range 5 {
		if err := create(t.Context(), scope); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < 200*time.Millisecond {
		t.Errorf("5 calls at 20 per second took %s", took)
	}
}

func TestCallsAreObserved(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	var mu sync.Mutex
	seen, named := map[string]int{}, map[string]bool{}
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback, Observe: func(call openstack.Call) {
		mu.Lock()
		defer mu.Unlock()
		seen[call.Service+" "+call.Method+" "+call.Resource]++
		named[call.Cloud] = true
	}})
	text := strings.ReplaceAll(server.CloudsYAML(), "auth_url: http://", "auth_url: http://me:hidden@")
	if err := create(t.Context(), login(t, clouds, parse(t, text))); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	// A user and a password in the URL are not quoted.
	for cloud := range named {
		if want := server.URL() + "/identity/v3"; cloud != want {
			t.Errorf("the cloud is called %s, want %s", cloud, want)
		}
	}
	for _, want := range []string{"identity POST auth", "network POST networks"} {
		if seen[want] != 1 {
			t.Errorf("%q was observed %d times: %v", want, seen[want], seen)
		}
	}
}

// TestForgotten: a forgotten cloud logs in again, but not earlier if the login was refused.
func TestForgotten(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds, cloud := openstack.New(openstack.Options{Open: openstack.Loopback}), parse(t, server.CloudsYAML())
	wrong := parse(t, strings.ReplaceAll(server.CloudsYAML(), "password: secret", "password: wrong"))
	for range 2 {
		login(t, clouds, cloud)
		clouds.Forget(cloud)
		if _, err := clouds.Scope(t.Context(), wrong); err == nil {
			t.Error("a wrong password is taken")
		}
		clouds.Forget(wrong)
	}
	if n := server.Calls()[tokenPost]; n != 3 {
		t.Errorf("%d logins", n)
	}
}

func TestScopesOfLongAgoGo(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback, MaxScopes: 1})
	one, other := parse(t, server.CloudsYAML()), parse(t, strings.ReplaceAll(server.CloudsYAML(), "demo", "alt_demo"))
	login(t, clouds, one)
	login(t, clouds, other)
	login(t, clouds, one)
	if n := server.Calls()[tokenPost]; n != 3 {
		t.Errorf("%d logins", n)
	}
}

// TestHangingLogin: a cloud that does not answer delays its callers once, and later callers
// return soon.
func TestHangingLogin(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-end
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(end) })
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback, Login: time.Second})
	cloud := parse(t, "clouds: {openstack: {auth: {auth_url: '"+server.URL+"/v3', username: u, password: p}}}")
	for range 3 {
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				_, err := clouds.Scope(t.Context(), cloud)
				if got := openstack.Classify(err); got.Class != openstack.Retryable || !got.Late {
					t.Errorf("%v: %+v", err, got)
				}
			})
		}
		group.Wait()
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}
